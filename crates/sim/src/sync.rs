//! Primitives that threads of this crate share what changes by, and how they wait: no other file names `std`'s
//! (`tests/house/test_shared.py`). `tests/interleavings.rs` compiles the modules of threads over loom's.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};
pub(crate) use std::thread::scope;

use std::hint::spin_loop;
use std::sync::PoisonError;
use std::thread::{available_parallelism, yield_now};
use std::time::{Duration, Instant};

/// Time for which a thread that waits keeps its core; afterwards others may have it.
const SPIN: Duration = Duration::from_micros(2);

/// Looks at the clock while spinning: one of so many rounds.
const ROUNDS: u32 = 64;

/// Locks; a panic of another thread left the value whole, so go on with it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Value that one thread writes and others then read, in turns on which they agree elsewhere: the lock is there for the
/// compiler. Loom's `Slot` has none, so that loom reports two accesses that nothing has put in order.
#[derive(Default)]
pub(crate) struct Slot<T>(Mutex<T>);

impl<T> Slot<T> {
    pub(crate) fn read<A>(&self, use_it: impl FnOnce(&T) -> A) -> A {
        use_it(&lock(&self.0))
    }

    pub(crate) fn write<A>(&self, use_it: impl FnOnce(&mut T) -> A) -> A {
        use_it(&mut lock(&self.0))
    }
}

/// Whether each of so many threads can have a core of its own.
pub(crate) fn have_cores(threads: usize) -> bool {
    available_parallelism().is_ok_and(|cores| cores.get() >= threads)
}

/// One wait for other threads.
pub(crate) struct Wait {
    keeps_core: bool,
    rounds: u32,
    begun: Option<Instant>,
}

impl Wait {
    /// `keeps_core`: for a moment, if each thread can have one.
    pub(crate) fn new(keeps_core: bool) -> Self {
        Self { keeps_core, rounds: 0, begun: None }
    }

    /// Waits a little before the next look.
    #[inline]
    pub(crate) fn pause(&mut self) {
        self.rounds += 1;
        let mut is_long = || self.begun.get_or_insert_with(Instant::now).elapsed() > SPIN;
        if !self.keeps_core || self.rounds.is_multiple_of(ROUNDS) && is_long() {
            yield_now();
        } else {
            spin_loop();
        }
    }
}
