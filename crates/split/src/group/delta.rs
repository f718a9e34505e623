//! Delta between two states of a group, by which a replica comes to agree with another.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ABDELTA` and a zero |
//! | 2 | version of the format, 1 |
//! | 8 | number of updates of the new state |
//! | 16, 16 | digests of the state that it begins from, and of the new one |
//! | ... | members of the new state; length of its history in four bytes; the parts of the history that differ |
//! | 8 | checksum of all before |
//!
//! A part is a number `2 n + s` (LEB128), where `n` bytes stay before it: with `s = 0` one byte follows, with `s = 1` a
//! length (LEB128) and that many bytes. What the new history has beyond the old one follows as it is.

use super::bytes::{Unread, begin, digest, end, put_members};
use super::snapshot::recalled;
use super::{Group, Planned, numbered};
use crate::PlanError;
use std::format;
use std::vec::Vec;

const MAGIC: [u8; 8] = *b"ABDELTA\0";

impl Group {
    /// Difference from the state of `base`, a replica or an earlier copy, to the state of this group: members, and the
    /// slots that differ.
    ///
    /// # Errors
    /// Another technique or other parameters, or one that remembers flows or counts packets.
    pub fn delta(&self, base: &Self) -> Result<Vec<u8>, PlanError> {
        let (new, old) = (self.stateless("delta")?.load(), base.stateless("delta")?.load());
        self.same_rule("delta", base)?;
        let mut bytes = begin(MAGIC);
        bytes.extend(new.updates.to_le_bytes());
        for body in [base.body(&old), self.body(&new)] {
            bytes.extend(digest(&body).to_le_bytes());
        }
        put_members(&mut bytes, &new.members);
        let history = new.technique.history();
        bytes.extend((history.len() as u32).to_le_bytes());
        put_parts(&mut bytes, &old.technique.history(), &history);
        Ok(end(bytes))
    }

    /// Takes the state of another replica in place of its own, as an update does: from a snapshot of that replica, or
    /// from a delta that begins at the state of this group.
    ///
    /// # Errors
    /// Bytes that are neither; a snapshot of another technique, of other parameters or of fewer members; a delta from
    /// another state. The old plan stands.
    pub fn adopt(&self, bytes: &[u8]) -> Result<(), PlanError> {
        let plan = self.stateless("adopt")?;
        if !bytes.starts_with(&MAGIC) {
            let other = Self::restore(bytes)?;
            self.same_rule("snapshot", &other)?;
            let new = other.stateless("snapshot")?.load();
            return plan.update(|old| {
                let members = numbered(&old.members, new.members.clone())?;
                let serial = old.serial + 1;
                Ok(Planned { serial, ..Planned::new(members, new.technique.clone(), new.updates) })
            });
        }
        let mut unread = Unread::new("delta", MAGIC, bytes)?;
        let updates = u64::from_le_bytes(unread.array()?);
        let (from, to) = (u128::from_le_bytes(unread.array()?), u128::from_le_bytes(unread.array()?));
        let members = unread.members()?;
        let length = u32::from_le_bytes(unread.array()?) as usize;
        plan.update(|old| {
            if digest(&self.body(old)) != from {
                return Err(PlanError::new(
                    format!("delta: begins at the state {from:032x}, which is not that of this group"),
                    "adopt a snapshot of the other replica, or a delta from a copy of this one",
                ));
            }
            let history = patched(&mut unread, &old.technique.history(), length)?;
            let new = recalled(self, numbered(&old.members, members)?, &history, updates)?;
            if digest(&self.body(&new)) != to {
                return Err(unread.refused("the digest is not that of the new state"));
            }
            Ok(Planned { serial: old.serial + 1, ..new })
        })
    }

    /// Refuses another technique, and other parameters.
    fn same_rule(&self, what: &str, other: &Self) -> Result<(), PlanError> {
        if self.row.name == other.row.name && self.parameters.pairs().eq(other.parameters.pairs()) {
            return Ok(());
        }
        Err(PlanError::new(
            format!("{what}: of {other}, for a group of {self}", other = other.rule(), self = self.rule()),
            "replicas have the same technique and parameters",
        ))
    }

    /// Technique and parameters as people write them.
    fn rule(&self) -> std::string::String {
        let parameters = self.parameters.pairs().map(|(key, value)| format!(" {key}={value}"));
        core::iter::once(self.row.name.into()).chain(parameters).collect()
    }
}

/// Adds the parts of `new` that differ from `old`.
fn put_parts(bytes: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    let differ = |at: usize| old.get(at) != new.get(at);
    let both = old.len().min(new.len());
    let (mut at, mut end_before) = (0, 0);
    while at < both {
        if !differ(at) {
            at += 1;
            continue;
        }
        let stop = (at..both).find(|&at| !differ(at)).unwrap_or(both);
        let single = stop - at == 1;
        put_number(bytes, 2 * (at - end_before) + usize::from(!single));
        if !single {
            put_number(bytes, stop - at);
        }
        bytes.extend(&new[at..stop]);
        (at, end_before) = (stop, stop);
    }
    put_number(bytes, 2 * (both - end_before) + 1);
    put_number(bytes, 0);
    bytes.extend(&new[both..]);
}

/// The history that `put_parts` was given beside this one.
fn patched(unread: &mut Unread<'_>, old: &[u8], length: usize) -> Result<Vec<u8>, PlanError> {
    let both = old.len().min(length);
    let mut new = old[..both].to_vec();
    let mut at = 0usize;
    loop {
        let head = number(unread)?;
        let count = if head & 1 == 0 { 1 } else { number(unread)? };
        let begin = at.saturating_add(head >> 1);
        let stop = begin.saturating_add(count);
        let Some(part) = new.get_mut(begin..stop) else {
            return Err(unread.refused("a part beyond the end of the history"));
        };
        part.copy_from_slice(unread.take(count)?);
        at = stop;
        if count == 0 {
            break;
        }
    }
    new.extend(unread.rest());
    if at != both || new.len() != length {
        return Err(unread.refused("a history of another length"));
    }
    Ok(new)
}

/// Adds a number, seven bits a byte, the low ones first (LEB128).
fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number of at most 35 bits.
fn number(unread: &mut Unread<'_>) -> Result<usize, PlanError> {
    let mut number = 0u64;
    for shift in (0..35).step_by(7) {
        let byte = unread.byte()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number as usize);
        }
    }
    Err(unread.refused("a number that does not end"))
}
