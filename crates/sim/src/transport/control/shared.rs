//! The law of a queue pair on which a message begins while answers to the one before are still to come.
//!
//! Each of both has a sender of its own; window, rate and what moves them are the queue pair's.

use super::{Answer, CongestionControl, Trim, Unlimited};
use crate::sync::{Mutex, MutexGuard, lock};
use std::sync::Arc;

type Law = Box<dyn CongestionControl + Send>;

struct Shared {
    law: Law,
    /// Bytes of frames in flight, of all senders.
    in_flight_bytes: u64,
}

/// The law as one sender sees it.
pub(crate) struct SharedLaw {
    shared: Arc<Mutex<Shared>>,
    /// Bytes of frames that this sender has in flight.
    own_bytes: u64,
}

impl SharedLaw {
    /// The law for the sender of the next message; that of a sender with `in_flight_bytes` becomes one that is shared.
    pub(crate) fn split(law: &mut Law, in_flight_bytes: u64) -> Law {
        law.on_flight(in_flight_bytes);
        if let Some(next) = law.share() {
            return next;
        }
        let alone = std::mem::replace(law, Box::new(Unlimited));
        let shared = Arc::new(Mutex::new(Shared { law: alone, in_flight_bytes }));
        *law = Box::new(Self { shared: Arc::clone(&shared), own_bytes: in_flight_bytes });
        Box::new(Self { shared, own_bytes: 0 })
    }

    /// The law of a sender that leaves its queue pair, where no later one has it; not shared if nobody else has it either.
    pub(crate) fn take(law: &mut Law) -> Law {
        match law.take_alone() {
            Some(alone) => alone,
            None => std::mem::replace(law, Box::new(Unlimited)),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

impl CongestionControl for SharedLaw {
    fn window_bytes(&self) -> u64 {
        self.shared().law.window_bytes()
    }

    fn rate_bps(&self) -> u64 {
        self.shared().law.rate_bps()
    }

    fn on_ack(&mut self, answer: &Answer<'_>) {
        self.on_flight(answer.in_flight_bytes);
        let mut shared = self.shared();
        let in_flight_bytes = shared.in_flight_bytes;
        shared.law.on_ack(&Answer { in_flight_bytes, ..*answer });
    }

    fn on_mark(&mut self, now_ps: u64) {
        self.shared().law.on_mark(now_ps);
    }

    fn on_trim(&mut self, trim: &Trim) {
        self.on_flight(trim.in_flight_bytes);
        let mut shared = self.shared();
        let in_flight_bytes = shared.in_flight_bytes;
        shared.law.on_trim(&Trim { in_flight_bytes, ..*trim });
    }

    fn on_loss(&mut self, now_ps: u64) {
        self.shared().law.on_loss(now_ps);
    }

    fn on_timeout(&mut self, now_ps: u64, bytes: u64) {
        self.shared().law.on_timeout(now_ps, bytes);
    }

    fn due_ps(&self) -> u64 {
        self.shared().law.due_ps()
    }

    fn wake(&mut self, now_ps: u64) {
        self.shared().law.wake(now_ps);
    }

    fn on_flight(&mut self, bytes: u64) {
        let before = std::mem::replace(&mut self.own_bytes, bytes);
        let mut shared = self.shared();
        shared.in_flight_bytes = shared.in_flight_bytes - before + bytes;
    }

    fn others_bytes(&self) -> u64 {
        self.shared().in_flight_bytes - self.own_bytes
    }

    fn share(&self) -> Option<Law> {
        Some(Box::new(Self { shared: Arc::clone(&self.shared), own_bytes: 0 }))
    }

    fn take_alone(&mut self) -> Option<Law> {
        let alone = Arc::strong_count(&self.shared) == 1;
        alone.then(|| std::mem::replace(&mut self.shared().law, Box::new(Unlimited)))
    }
}

impl Drop for SharedLaw {
    fn drop(&mut self) {
        self.on_flight(0);
    }
}

#[cfg(test)]
mod tests;
