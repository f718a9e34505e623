//! Storage of a scheme's tables: on a heap, in a static array, in a kernel's map.

/// Storage for tables of any plain type.
pub trait Store {
    /// Table of `T`.
    type Of<T: Copy>: AsRef<[T]> + AsMut<[T]>;
}

/// Storage on the heap.
#[cfg(feature = "plan")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

#[cfg(feature = "plan")]
impl Store for Heap {
    type Of<T: Copy> = std::boxed::Box<[T]>;
}

/// Storage of tables with `N` entries each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed<const N: usize>;

impl<const N: usize> Store for Fixed<N> {
    type Of<T: Copy> = [T; N];
}
