//! Where a scheme's tables lie: on a heap, in a static array, in a kernel's map.

/// A place for tables of any plain type.
pub trait Store {
    /// A table of `T`.
    type Of<T: Copy>: AsRef<[T]> + AsMut<[T]>;
}

/// Tables on the heap.
#[cfg(feature = "plan")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

#[cfg(feature = "plan")]
impl Store for Heap {
    type Of<T: Copy> = std::boxed::Box<[T]>;
}

/// Tables of `N` places each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed<const N: usize>;

impl<const N: usize> Store for Fixed<N> {
    type Of<T: Copy> = [T; N];
}
