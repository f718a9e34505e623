//! Forwarding tables, as the hot path reads them.

use anabranch_plan::Parts;

/// Destination that a switch without hosts has as its own.
pub(super) const NO_LEAF: u32 = u32::MAX;

/// A group as the hot path reads it.
#[derive(Clone, Copy)]
pub(super) struct Members {
    pub(super) group: u32,
    pub(super) first: u32,
    pub(super) len: u16,
    /// Whether any member carries.
    pub(super) alive: bool,
}

/// Forwarding table of a switch.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Number of the switch as a destination, if it is a leaf.
    pub(super) own: u32,
    /// Where its division of the destinations begins in [`Table::parts`].
    pub(super) at: u32,
    /// Its groups in [`Table::groups`], by part.
    pub(super) first: u32,
    pub(super) len: u32,
}

/// Forwarding tables: for each switch and destination a group. Destinations are divided into those of equal groups, and
/// most switches of a tier divide them alike, so that the tables of a large fabric still fit into caches.
#[derive(Clone, Default)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) parts: Parts,
    pub(super) groups: Vec<Members>,
}

impl Table {
    /// Group of a switch towards a destination, which is not its own.
    pub(super) fn group(&self, switch: u32, leaf: u32) -> u32 {
        let Row { at, first, .. } = self.rows[switch as usize];
        self.groups[(first + self.parts.flat()[(at + leaf) as usize]) as usize].group
    }

    /// Groups of a switch, each once.
    pub(super) fn groups_of(&self, switch: u32) -> std::ops::Range<usize> {
        let Row { first, len, .. } = self.rows[switch as usize];
        first as usize..(first + len) as usize
    }
}
