//! Primitives that threads share a group by: no other file of this crate names `std`'s (`tests/house/test_shared.py`).
//! `tests/it/threads/` compiles the modules above them over loom's.

use arc_swap::{ArcSwap, Cache, Guard};
use std::sync::{Arc, PoisonError};
pub(super) use std::sync::{Mutex, MutexGuard};

/// Atomic pointer to an immutable value.
pub(super) struct Pointer<T>(ArcSwap<T>);

/// Value of a moment.
pub(super) type Loaded<T> = Guard<Arc<T>>;

/// Value that one thread keeps until there is another.
pub(super) struct Cached<'p, T>(Cache<&'p ArcSwap<T>, Arc<T>>);

impl<T> Pointer<T> {
    pub(super) fn new(value: T) -> Self {
        Self(ArcSwap::from_pointee(value))
    }

    #[inline]
    pub(super) fn load(&self) -> Loaded<T> {
        self.0.load()
    }

    #[inline]
    pub(super) fn cached(&self) -> Cached<'_, T> {
        Cached(Cache::new(&self.0))
    }

    pub(super) fn store(&self, value: T) {
        self.0.store(Arc::new(value));
    }
}

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        Self(ArcSwap::new(self.0.load_full()))
    }
}

impl<T> Cached<'_, T> {
    #[inline]
    pub(super) fn load(&mut self) -> &T {
        self.0.load()
    }
}

/// Locks; a panic in another thread's pick or plan left the value whole, so go on with it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
