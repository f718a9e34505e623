//! Value of which one thread at a time has the use.

use super::sync::{Mutex, MutexGuard, lock};

/// Value behind two locks. The first is locked while waiting for the second and no longer, so that a thread which locks
/// again and again, as a batch does for each of its parts, comes after one that waits already: with one lock it would
/// overtake the other each time.
pub(super) struct Owned<T> {
    next: Mutex<()>,
    value: Mutex<T>,
}

impl<T> Owned<T> {
    pub(super) fn new(value: T) -> Self {
        Self { next: Mutex::new(()), value: Mutex::new(value) }
    }

    /// Waits for the value.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        let _next = lock(&self.next);
        lock(&self.value)
    }

    /// The value, for the one who has all of it.
    pub(super) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl<T: Clone> Clone for Owned<T> {
    fn clone(&self) -> Self {
        Self::new(self.lock().clone())
    }
}
