//! Which blocks an acknowledgement reports (RFC 2018, section 4): the newest first, then those reported before it.

use super::ranges::Ranges;
use crate::SackBlock;
use std::ops::Range;

const BLOCKS: usize = 3;

/// A byte of each of the blocks that changed last, the newest first; distinct blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    bytes: [u64; BLOCKS],
    count: usize,
}

impl Recent {
    /// A block grew, or began.
    pub(super) fn note(&mut self, block: Range<u64>) {
        let older = *self;
        self.bytes[0] = block.start;
        self.count = 1;
        for &byte in &older.bytes[..older.count] {
            if self.count < BLOCKS && !block.contains(&byte) {
                self.bytes[self.count] = byte;
                self.count += 1;
            }
        }
    }

    /// The blocks, as they are now.
    pub(super) fn blocks(&mut self, ahead: &Ranges, expected: u64) -> [SackBlock; BLOCKS] {
        let mut blocks = [SackBlock::default(); BLOCKS];
        let older = *self;
        self.count = 0;
        for &byte in &older.bytes[..older.count] {
            if let Some(block) = ahead.around(byte) {
                blocks[self.count] = SackBlock::of(&block, expected);
                self.bytes[self.count] = byte;
                self.count += 1;
            }
        }
        blocks
    }
}
