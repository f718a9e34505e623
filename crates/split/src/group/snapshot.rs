//! Snapshot of a group: its whole state as bytes, from which another program goes on.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ABGROUP` and a zero |
//! | 2 | version of the format, 1 |
//! | 8 | number of updates |
//! | 16 | digest of the body (XXH3, 128 bits) |
//! | ... | body: name of the technique; number of parameters, and name and value of each; members; history |
//! | 8 | checksum of all before (XXH3, 64 bits) |
//!
//! Numbers are little-endian. A text is its length in one byte and UTF-8; members are their number in two bytes, a weight
//! each in eight, then 0 and a byte each (1 is up), or 1 and what is left of each weight in eight; the history is its
//! length in four bytes and what the technique makes of it.

use super::bytes::{Unread, begin, digest, end, put_members, put_text};
use super::published::Published;
use super::{Group, Kind, Planned, Revision};
use crate::control::SlotTable;
use crate::history::refused;
use crate::technique::{self, MIN_MOVE, Parameters, Row, Technique};
use crate::{Members, PlanError};
use std::format;
use std::sync::Arc;
use std::vec::Vec;

pub(super) const MAGIC: [u8; 8] = *b"ABGROUP\0";

impl Group {
    /// The whole state as bytes: technique, parameters, members and the history that later updates build on. Picks and
    /// updates may run meanwhile.
    ///
    /// # Errors
    /// A technique that remembers flows or counts packets.
    pub fn snapshot(&self) -> Result<Vec<u8>, PlanError> {
        let planned = self.stateless("snapshot")?.load();
        Ok(sealed(&self.body(&planned), planned.updates))
    }

    /// The group that left this snapshot: it picks as that one did, and after any later updates as that one would.
    ///
    /// # Errors
    /// Bytes that are no snapshot of a group, or one of another version of the format.
    pub fn restore(snapshot: &[u8]) -> Result<Self, PlanError> {
        let Parts { row, parameters, members, history, updates, digest: stated } = Parts::read(snapshot)?;
        let mut group = Self::new(row.name, &members, &parameters)?;
        let planned = recalled(&group, members, history, updates)?;
        if digest(&group.body(&planned)) != stated {
            return Err(refused("the digest is not that of the group"));
        }
        group.kind = Kind::Stateless(Published::new(planned));
        Ok(group)
    }

    /// State in a few bytes, by which replicas tell whether they agree.
    ///
    /// # Errors
    /// A technique that remembers flows or counts packets.
    pub fn revision(&self) -> Result<Revision, PlanError> {
        let planned = self.stateless("revision")?.load();
        Ok(Revision { updates: planned.updates, digest: digest(&self.body(&planned)) })
    }

    /// The plan of a group whose state is all there is.
    pub(super) fn stateless(&self, what: &str) -> Result<&Published<Planned>, PlanError> {
        match &self.kind {
            Kind::Stateless(plan) => Ok(plan),
            Kind::Stateful(_) => Err(PlanError::new(
                format!(
                    "{what}: {} remembers flows or counts packets, which are no part of its plan",
                    self.row.name
                ),
                "use min-move or another technique of granularity `stateless`",
            )),
        }
    }

    /// State as the bytes that the digest covers.
    pub(super) fn body(&self, planned: &Planned) -> Vec<u8> {
        body(self.row.name, &self.parameters, &planned.members, &planned.technique.history())
    }
}

/// A table that a switch or kernel holds is the min-move group of its slots.
impl<const N: usize> SlotTable<u8, N> {
    /// The table of `members` as the snapshot of a group.
    #[must_use]
    pub fn snapshot(&self, members: &Members) -> Vec<u8> {
        sealed(&body(MIN_MOVE, &Self::parameters(), members, &self.history()), 0)
    }

    /// The table of a snapshot, and its members.
    ///
    /// # Errors
    /// Bytes that are no snapshot of a min-move group of so many slots.
    pub fn restored(snapshot: &[u8]) -> Result<(Self, Members), PlanError> {
        let parts = Parts::read(snapshot)?;
        if parts.row.name != MIN_MOVE || !parts.parameters.pairs().eq(Self::parameters().pairs()) {
            return Err(refused(&format!("not of a {MIN_MOVE} group of {N} slots")));
        }
        Ok((Self::recalled(&parts.members, parts.history)?, parts.members))
    }

    fn parameters() -> Parameters {
        Parameters::new([("slots", format!("{N}"))])
    }
}

/// Snapshot as it was read, its history not yet understood.
struct Parts<'a> {
    row: &'static Row,
    parameters: Parameters,
    members: Members,
    history: &'a [u8],
    updates: u64,
    digest: u128,
}

impl<'a> Parts<'a> {
    fn read(snapshot: &'a [u8]) -> Result<Self, PlanError> {
        let mut unread = Unread::new("snapshot", MAGIC, snapshot)?;
        let updates = u64::from_le_bytes(unread.array()?);
        let digest = u128::from_le_bytes(unread.array()?);
        let row = technique::row(unread.text()?)?;
        let mut pairs = Vec::new();
        for _ in 0..unread.byte()? {
            pairs.push((unread.text()?, unread.text()?));
        }
        let members = unread.members()?;
        let length = u32::from_le_bytes(unread.array()?);
        let history = unread.take(length as usize)?;
        if !unread.is_empty() {
            return Err(unread.refused("more bytes than a group has"));
        }
        Ok(Self { row, parameters: Parameters::new(pairs), members, history, updates, digest })
    }
}

/// State as the bytes that the digest covers.
fn body(technique: &str, parameters: &Parameters, members: &Members, history: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    put_text(&mut body, technique);
    let pairs = parameters.pairs();
    body.push(pairs.len() as u8);
    for (key, value) in pairs {
        put_text(&mut body, key);
        put_text(&mut body, value);
    }
    put_members(&mut body, members);
    body.extend((history.len() as u32).to_le_bytes());
    body.extend(history);
    body
}

/// Snapshot of a state after so many updates.
fn sealed(body: &[u8], updates: u64) -> Vec<u8> {
    let mut bytes = begin(MAGIC);
    bytes.extend(updates.to_le_bytes());
    bytes.extend(digest(body).to_le_bytes());
    bytes.extend(body);
    end(bytes)
}

/// The plan of `members` by the technique and parameters of `group`, with this history.
pub(super) fn recalled(
    group: &Group,
    members: Members,
    history: &[u8],
    updates: u64,
) -> Result<Planned, PlanError> {
    let (Technique::Stateless(mut technique), _) = technique::build(group.row, &members, &group.parameters)?
    else {
        return Err(PlanError::new(
            format!("snapshot: {} remembers flows or counts packets", group.row.name),
            "a snapshot has neither: it is not one of a group",
        ));
    };
    match Arc::get_mut(&mut technique) {
        Some(plan) => plan.recall(&members, history)?,
        None => unreachable!("nobody else has seen the plan"),
    }
    Ok(Planned::new(members, technique, updates))
}
