//! Rows of connections, in blocks that never move: growth copies nothing, and room that is left over is one block at most.

use crate::Headers;
use anabranch_split::FiveTuple;
use anabranch_split::prefetch::prefetch;

/// What a packet finds and changes of its connection: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Row {
    /// The first packet's.
    pub(super) tuple: FiveTuple,
    /// Whether the other end has sent ([`super::Direction::Conversation`] only).
    pub(super) answered: bool,
    /// Those of all its packets ([`super::Direction::EachHeaders`] only).
    pub(super) headers: Headers,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) last_ns: u64,
}

const _: () = assert!(size_of::<Row>() == 64);

/// Rows of a block: 256 KiB.
const BLOCK: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Rows {
    blocks: Vec<Vec<Row>>,
}

impl Rows {
    #[inline]
    pub(super) fn get(&self, index: u32) -> &Row {
        let index = index as usize;
        &self.blocks[index / BLOCK][index % BLOCK]
    }

    /// Asks for a row's cache line.
    #[inline]
    pub(super) fn prefetch(&self, index: u32) {
        prefetch(self.get(index));
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Row {
        let index = index as usize;
        &mut self.blocks[index / BLOCK][index % BLOCK]
    }

    pub(super) fn push(&mut self, row: Row) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(row),
            _ => {
                // A small table stays small.
                let rows = if self.blocks.is_empty() { 0 } else { BLOCK };
                let mut block = Vec::with_capacity(rows);
                block.push(row);
                self.blocks.push(block);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * BLOCK + last.len())
    }

    /// Rows from one on, in the order of their numbers.
    pub(super) fn iter_from(&self, first: usize) -> impl ExactSizeIterator<Item = &Row> {
        (first..self.len()).map(|index| &self.blocks[index / BLOCK][index % BLOCK])
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.capacity() * size_of::<Row>()).sum::<usize>()
            + self.blocks.capacity() * size_of::<Vec<Row>>()
    }
}
