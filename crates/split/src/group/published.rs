//! Immutable value that many threads read and few replace.

use super::sync::{Cached, Loaded, Mutex, Pointer, lock};

/// Value behind an atomic pointer. Readers never wait; whoever replaces the value waits for others who do.
pub(super) struct Published<T> {
    pointer: Pointer<T>,
    /// Locked from reading the value that is replaced until it is.
    replacing: Mutex<()>,
}

impl<T> Published<T> {
    /// Publishes the first value.
    pub(super) fn new(value: T) -> Self {
        Self { pointer: Pointer::new(value), replacing: Mutex::new(()) }
    }

    /// The value of this moment; it stays as it is until it is dropped.
    #[inline]
    pub(super) fn load(&self) -> Loaded<T> {
        self.pointer.load()
    }

    /// Handle of one thread that keeps the value until there is another.
    #[inline]
    pub(super) fn cached(&self) -> Cached<'_, T> {
        self.pointer.cached()
    }

    /// Replaces the value by what `next` makes of it. On an error it stands.
    pub(super) fn update<E>(&self, next: impl FnOnce(&T) -> Result<T, E>) -> Result<(), E> {
        let _replacing = lock(&self.replacing);
        let next = next(&self.pointer.load())?;
        self.pointer.store(next);
        Ok(())
    }
}

/// A copy begins with the same value, which nobody changes; later ones are its own.
impl<T> Clone for Published<T> {
    fn clone(&self) -> Self {
        Self { pointer: self.pointer.clone(), replacing: Mutex::new(()) }
    }
}
