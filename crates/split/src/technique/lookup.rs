//! Table by which a key alone decides: what picks one by one read without a call.

use crate::Still;
use crate::picks::modulo::ModuloTable;
use crate::picks::{Modulo, Packet, pick};
use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

/// Table of a plan, shared with it; none if its technique computes.
#[derive(Clone)]
pub(crate) enum Lookup {
    /// Members of 2^k slots, found by the low bits.
    Bytes(Arc<[u8]>),
    /// The same for more than 256 members.
    Words(Arc<[u16]>),
    /// Members of any number of entries, found by the remainder.
    Remainders(Arc<ModuloTable<Box<[u16]>>>),
    /// No table.
    None,
}

impl Lookup {
    /// Member of a flow; none without a table.
    #[inline]
    pub(crate) fn pick(&self, flow: u64) -> Option<u16> {
        let mut packet = Packet { flow, bytes: 1, ..Packet::default() };
        let slot = |slots: usize| packet.hash() as usize & (slots - 1);
        match self {
            Self::Bytes(slots) => Some(slots[slot(slots.len())].into()),
            Self::Words(slots) => Some(slots[slot(slots.len())]),
            Self::Remainders(table) => Some(pick::<Modulo<_>, _>(table, &mut (), &mut packet, &mut Still)),
            Self::None => None,
        }
    }

    /// Member of each entry; none without a table.
    pub(crate) fn members(&self) -> Option<Vec<u16>> {
        match self {
            Self::Bytes(slots) => Some(slots.iter().copied().map(u16::from).collect()),
            Self::Words(slots) => Some(slots.to_vec()),
            Self::Remainders(table) => Some(table.entries().to_vec()),
            Self::None => None,
        }
    }
}
