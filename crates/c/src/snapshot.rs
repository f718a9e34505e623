//! State of a group as bytes: snapshots, deltas between replicas, and what tells whether they agree.

use crate::argument::{array, handle, new_handle, result, values};
use crate::group::Group;
use crate::outcome::{Status, status};
use std::sync::Arc;

/// State of a group in a few bytes. Two groups with the same digest pick the same now, and after the same later updates.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Number of updates since the group was made, those before its snapshots among them.
    pub updates: u64,
    /// Upper half of the digest of technique, parameters, weights and history: against accidents, not attackers.
    pub digest_high: u64,
    /// Lower half of it.
    pub digest_low: u64,
}

/// Writes the length in bytes of the group's whole state, and the state if `room` is enough for it (else
/// ANABRANCH_STATUS_ROOM): technique, parameters, weights, and the history that later updates build on. For techniques of
/// granularity "stateless".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_snapshot(
    group: Option<&Group>,
    bytes: *mut u8,
    room: usize,
    len: *mut usize,
) -> Status {
    status(|| {
        let snapshot = handle("group", group)?.0.snapshot()?;
        // SAFETY: the header says what these have to be.
        unsafe { values("bytes", bytes, room, len, &snapshot) }
    })
}

/// Makes the group that left this snapshot: it picks as that one did, and after any later updates as that one would.
/// Bytes that were cut, changed or forged are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_restore(
    bytes: *const u8,
    bytes_len: usize,
    group: *mut *mut Group,
) -> Status {
    let new = || {
        // SAFETY: the header says what it has to be.
        let bytes = unsafe { array("bytes", bytes, bytes_len) }?;
        Ok(Group(Arc::new(anabranch_split::Group::restore(bytes)?)))
    };
    // SAFETY: the same.
    status(|| unsafe { new_handle("group", group, new) })
}

/// Writes the revision of a group, by which replicas tell whether they agree. For techniques of granularity "stateless".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_revision(group: Option<&Group>, revision: *mut Revision) -> Status {
    status(|| {
        // SAFETY: the header says what it has to be.
        let revision = unsafe { result("revision", revision) }?;
        let anabranch_split::Revision { updates, digest } = handle("group", group)?.0.revision()?;
        revision.write(Revision { updates, digest_high: (digest >> 64) as u64, digest_low: digest as u64 });
        Ok(())
    })
}

/// Writes the length in bytes of the difference from the state of `base`, a replica or an earlier copy, to the state of
/// `group`, and the difference if `room` is enough for it (else ANABRANCH_STATUS_ROOM): members, and the slots that
/// differ. Both have the same technique and parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_delta(
    group: Option<&Group>,
    base: Option<&Group>,
    bytes: *mut u8,
    room: usize,
    len: *mut usize,
) -> Status {
    status(|| {
        let delta = handle("group", group)?.0.delta(&handle("base", base)?.0)?;
        // SAFETY: the header says what these have to be.
        unsafe { values("bytes", bytes, room, len, &delta) }
    })
}

/// Takes the state of another replica in place of the group's own, as an update does: from a snapshot of that replica, or
/// from a delta that begins at the state of this group. A delta from another state is refused. All drains end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_adopt(
    group: Option<&Group>,
    bytes: *const u8,
    bytes_len: usize,
) -> Status {
    status(|| {
        let group = handle("group", group)?;
        // SAFETY: the header says what it has to be.
        Ok(group.0.adopt(unsafe { array("bytes", bytes, bytes_len) }?)?)
    })
}
