//! Entries of a plan, wherever an environment keeps them.

/// List that schemes read.
pub trait List<T> {
    /// Entry number `index`, if there is one.
    fn get(&self, index: usize) -> Option<&T>;

    /// Number of entries.
    fn len(&self) -> usize;

    /// Whether there are none.
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits all entries in order.
    fn each(&self, visit: impl FnMut(&T));

    /// First entry that passes `wanted` behind number `index`, or else from the beginning on.
    fn next(&self, index: usize, wanted: impl Fn(&T) -> bool) -> Option<&T>;
}

impl<T> List<T> for [T] {
    #[inline(always)]
    fn get(&self, index: usize) -> Option<&T> {
        self.get(index)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(&T)) {
        for entry in self {
            visit(entry);
        }
    }

    #[inline(always)]
    fn next(&self, index: usize, wanted: impl Fn(&T) -> bool) -> Option<&T> {
        let (before, behind) = self.split_at_checked(index + 1).unwrap_or((self, &[]));
        behind.iter().chain(before).find(|&entry| wanted(entry))
    }
}

impl<T, L: List<T> + ?Sized> List<T> for &L {
    #[inline(always)]
    fn get(&self, index: usize) -> Option<&T> {
        (**self).get(index)
    }

    #[inline(always)]
    fn len(&self) -> usize {
        (**self).len()
    }

    #[inline(always)]
    fn each(&self, visit: impl FnMut(&T)) {
        (**self).each(visit);
    }

    #[inline(always)]
    fn next(&self, index: usize, wanted: impl Fn(&T) -> bool) -> Option<&T> {
        (**self).next(index, wanted)
    }
}

/// List of up to `N` entries, a power of two, in place: the form that a map of the kernel holds. Its verifier can
/// follow a counter below a constant, not the end of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Bounded<T, const N: usize> {
    len: u32,
    entries: [T; N],
}

impl<T: Copy, const N: usize> Bounded<T, N> {
    /// Takes the first `N` of `entries`; `filler` fills up the rest, and is never read.
    #[must_use]
    pub fn new(entries: &[T], filler: T) -> Self {
        let mut held = [filler; N];
        for (slot, entry) in held.iter_mut().zip(entries) {
            *slot = *entry;
        }
        Self { len: entries.len().min(N) as u32, entries: held }
    }
}

impl<T, const N: usize> List<T> for Bounded<T, N> {
    #[inline(always)]
    fn get(&self, index: usize) -> Option<&T> {
        const { assert!(N.is_power_of_two(), "the index is a mask") }
        if index < self.len() { self.entries.get(index & (N - 1)) } else { None }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len as usize
    }

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // An iterator has an end besides, and the kernel's program compares with both.
    fn each(&self, mut visit: impl FnMut(&T)) {
        let len = self.len();
        for index in 0..N {
            if index >= len {
                break;
            }
            visit(&self.entries[index]);
        }
    }

    #[inline(always)]
    fn next(&self, index: usize, wanted: impl Fn(&T) -> bool) -> Option<&T> {
        let mut slot = index;
        for turn in 0..N {
            if turn >= self.len() {
                break;
            }
            slot = if slot + 1 < self.len() { slot + 1 } else { 0 };
            let entry = self.get(slot)?;
            if wanted(entry) {
                return Some(entry);
            }
        }
        None
    }
}
