//! Large tables in huge pages: a processor remembers where far more of them are.
//!
//! Connections, packets and ports of a large run are read in an order that no cache foresees, and with pages of 4 KB each
//! read asks first where its page is. Linux gives huge pages to whom asks for them where
//! `/sys/kernel/mm/transparent_hugepage/enabled` is `madvise`, which it is on many machines.

use nix::sys::mman::{MmapAdvise, madvise};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::NonNull;

/// A huge page of x86-64, and of AArch64 with pages of 4 KB.
const HUGE_PAGE: usize = 2 << 20;

/// Start and length of what is advised are multiples of it: the largest page that is not huge.
const PAGE: usize = 64 << 10;

/// The system's allocator, which asks for huge pages where an allocation takes one or more. For a program to name as its
/// `global_allocator`; results do not depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

// SAFETY: all memory comes from the system's allocator, and goes back to it with the layout that it was asked for.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: `start` came from the system's allocator with this layout.
        unsafe { System.dealloc(start, layout) }
    }

    /// A large table that grows is copied: where Linux moves its pages instead, huge ones are cut up.
    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size < HUGE_PAGE {
            // SAFETY: as for `dealloc`; the caller keeps the contract of `realloc`.
            return unsafe { System.realloc(start, layout, size) };
        }
        // SAFETY: the caller says that this size, rounded up to the alignment, is no overflow.
        let grown = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: `size` is not zero; both blocks are as long as what is copied, and apart.
        unsafe {
            let copy = self.alloc(grown);
            if !copy.is_null() {
                copy.copy_from_nonoverlapping(start, layout.size().min(size));
                self.dealloc(start, layout);
            }
            copy
        }
    }
}

/// Asks for huge pages for an allocation that takes one or more, and hands it on. Where there are none, all is as before.
#[inline(always)]
fn advised(start: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= HUGE_PAGE && !start.is_null() {
        advise(start, bytes);
    }
    start
}

#[cold]
fn advise(start: *mut u8, bytes: usize) {
    let before = start.align_offset(PAGE);
    let Some(first) = NonNull::new(start.wrapping_add(before)) else { return };
    // SAFETY: the pages lie within the allocation, and the advice changes nothing that they hold.
    let _ = unsafe { madvise(first.cast(), (bytes - before) / PAGE * PAGE, MmapAdvise::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    /// Flags of the mapping in which an address lies, in Linux' two letters each.
    fn flags(address: usize) -> String {
        let mut within = false;
        for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((start, end)) = range {
                let of = |hex| usize::from_str_radix(hex, 16);
                if let (Ok(start), Ok(end)) = (of(start), of(end)) {
                    within = (start..end).contains(&address);
                }
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| within) {
                return flags.to_owned();
            }
        }
        panic!("{address:x} is in no mapping")
    }

    #[test]
    fn a_large_table_is_advised_and_keeps_what_it_holds_as_it_grows() {
        let layout = |bytes| Layout::from_size_align(bytes, 64).unwrap();
        // SAFETY: layouts are those of the allocations, and only what was written is read.
        unsafe {
            let small = HugePages.alloc(layout(64 << 10));
            small.write_bytes(3, 64 << 10);
            let table = HugePages.realloc(small, layout(64 << 10), 2 * HUGE_PAGE);
            let table = HugePages.realloc(table, layout(2 * HUGE_PAGE), 5 * HUGE_PAGE);
            assert_eq!([0, (64 << 10) - 1].map(|index| *table.add(index)), [3, 3]);
            if Path::new("/sys/kernel/mm/transparent_hugepage").is_dir() {
                let flags = flags(table as usize + 2 * HUGE_PAGE);
                assert!(flags.contains(" hg"), "{flags}");
            }
            let shrunk = HugePages.realloc(table, layout(5 * HUGE_PAGE), 4 << 10);
            assert_eq!(*shrunk, 3);
            HugePages.dealloc(shrunk, layout(4 << 10));
            let zeros = HugePages.alloc_zeroed(layout(3 * HUGE_PAGE));
            assert!((0..3 * HUGE_PAGE).step_by(4096).all(|index| *zeros.add(index) == 0));
            HugePages.dealloc(zeros, layout(3 * HUGE_PAGE));
        }
    }
}
