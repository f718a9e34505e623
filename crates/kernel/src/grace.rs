//! Time after which no packet reads what was in force before.

use nix::libc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Pause if the kernel cannot wait for us: much longer than any program runs.
const FALLBACK: Duration = Duration::from_millis(100);

/// Programs run inside RCU's read sections; `membarrier(MEMBARRIER_CMD_GLOBAL)` returns when all have ended that ran when
/// it was called (membarrier(2): it is `synchronize_rcu`). It takes some 10 ms, which a thread of its own waits, for a
/// member that has just died must not wait for the plan before.
pub(crate) struct Grace(Option<JoinHandle<()>>);

impl Grace {
    /// Begins now.
    pub(crate) fn begin() -> Self {
        Self(Some(thread::spawn(wait)))
    }

    /// Returns when it is over.
    pub(crate) fn over(&mut self) {
        if let Some(waiting) = self.0.take() {
            // A thread that panicked waited for nobody.
            if waiting.join().is_err() {
                wait();
            }
        }
    }
}

fn wait() {
    const GLOBAL: libc::c_int = 1;
    // SAFETY: it takes numbers and writes nothing.
    if unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) } != 0 {
        thread::sleep(FALLBACK);
    }
}
