//! Group of weighted members.

use crate::argument::{array, array_mut, handle, new_handle, optional_array, pairs, text, values};
use crate::outcome::{Failure, Status, answer, refused, status};
use anabranch_split::{Batch, Members, Parameters, PlanError, Weights};
use std::ffi::c_char;
use std::sync::Arc;

/// Group of weighted members, planned by one technique. Any number of threads pick from it while others change it.
pub struct Group(pub(crate) Arc<anabranch_split::Group>);

/// No member: what a pick returns that cannot be done.
pub const NO_MEMBER: u16 = u16::MAX;

/// Plans `members` members with whole-numbered `weights`, all of them up, by the technique of that name
/// (docs/which.md lists them; "min-move" unless you know better). `settings` are `settings_len` parameters of the
/// technique, each "key=value"; NULL and 0 for none. At most 1024 members, whose weights sum up to at most 2^53; one is
/// positive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_new(
    technique: *const c_char,
    weights: *const u64,
    members: usize,
    settings: *const *const c_char,
    settings_len: usize,
    group: *mut *mut Group,
) -> Status {
    let new = || {
        // SAFETY: the header says what these have to be.
        let (technique, weights, settings) = unsafe {
            (
                text("technique", technique)?,
                array("weights", weights, members)?,
                pairs("settings", settings, settings_len)?,
            )
        };
        let members = Members::all_up(Weights::new(weights.to_vec())?);
        let group = anabranch_split::Group::new(technique, &members, &Parameters::new(settings))?;
        Ok(Group(Arc::new(group)))
    };
    // SAFETY: the same.
    status(|| unsafe { new_handle("group", group, new) })
}

/// Makes a group with the plan, history and flows of another, and its own from then on: for techniques that remember
/// flows, one for each thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_copy(group: Option<&Group>, copy: *mut *mut Group) -> Status {
    let new = || Ok(Group(Arc::new((*handle("group", group)?.0).clone())));
    // SAFETY: the header says what it has to be.
    status(|| unsafe { new_handle("copy", copy, new) })
}

/// Picks the member of one packet of the flow with this key, a 64-bit hash all of whose bits depend on all that names
/// the flow. UINT16_MAX (ANABRANCH_NO_MEMBER) if there is no group.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_group_pick(group: Option<&Group>, key: u64) -> u16 {
    answer(|| Ok(handle("group", group)?.0.pick(key))).unwrap_or(NO_MEMBER)
}

/// Picks the members of `packets` packets, in order of arrival, into `members`. `bytes` of each on the wire and
/// `times_ns` of arrival (ascending) may be NULL; techniques of granularity "packet" read them. An update meanwhile takes
/// effect at some packet of the batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_pick_batch(
    group: Option<&Group>,
    keys: *const u64,
    bytes: *const u32,
    times_ns: *const u64,
    packets: usize,
    members: *mut u16,
) -> Status {
    status(|| {
        let group = handle("group", group)?;
        // SAFETY: the header says what these have to be.
        let (batch, members) = unsafe {
            (
                Batch {
                    flows: array("keys", keys, packets)?,
                    bytes: optional_array("bytes", bytes, packets)?.unwrap_or_default(),
                    times_ns: optional_array("times_ns", times_ns, packets)?.unwrap_or_default(),
                },
                array_mut("members", members, packets)?,
            )
        };
        group.0.pick_batch(&batch, members);
        Ok(())
    })
}

/// Plans anew, moving what the technique's rule moves and no more. `weights`: NULL keeps them. `up` has a byte for each
/// member, 0 if it is down; NULL: all are up. `members` is at least the number before: members keep their numbers, a
/// longer list appends some, and one that is gone has the weight 0. On an error the old plan stands. Picks that begin
/// after the return see the new plan; a reader sees it at its next pick.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_update(
    group: Option<&Group>,
    weights: *const u64,
    up: *const u8,
    members: usize,
) -> Status {
    status(|| {
        let group = handle("group", group)?;
        // SAFETY: the header says what these have to be.
        let asked = unsafe { Asked::new(weights, up, members) }?;
        Ok(group.0.update_with(|before| asked.members(before))?)
    })
}

/// Members as an update asks for them: new weights, or those of before, and which members are up.
pub(crate) struct Asked {
    weights: Option<Weights>,
    up: Vec<bool>,
}

impl Asked {
    /// Reads what an update was given.
    ///
    /// # Safety
    /// As [`optional_array`], of each.
    pub(crate) unsafe fn new(weights: *const u64, up: *const u8, members: usize) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        let (weights, up) =
            unsafe { (optional_array("weights", weights, members)?, optional_array("up", up, members)?) };
        Ok(Self {
            weights: weights.map(|weights| Weights::new(weights.to_vec())).transpose()?,
            up: up.map_or_else(|| vec![true; members], |up| up.iter().map(|&up| up != 0).collect()),
        })
    }

    /// Members that come after those of before.
    pub(crate) fn members(self, before: &Members) -> Result<Members, PlanError> {
        Members::new(self.weights.unwrap_or_else(|| before.weights().clone()), self.up)
    }
}

/// Number of members, those that are down included; 0 if there is no group.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_group_members(group: Option<&Group>) -> usize {
    answer(|| Ok(handle("group", group)?.0.members().len())).unwrap_or(0)
}

/// Writes the share of each of the `members` members under a perfect hash, exact for the present plan. `members` is what
/// anabranch_group_members returns. ANABRANCH_STATUS_UNDECIDED if the technique leaves it to the traffic.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_shares(
    group: Option<&Group>,
    shares: *mut f64,
    members: usize,
) -> Status {
    status(|| {
        let group = handle("group", group)?;
        // SAFETY: the header says what it has to be.
        let shares = unsafe { array_mut("shares", shares, members) }?;
        let Some(exact) = group.0.shares() else {
            let message = format!("{}: the traffic decides the shares; count the picks", group.0.technique());
            return Err(Failure { status: Status::Undecided, message });
        };
        if exact.len() != members {
            let problem = format!("shares: {members} values for {} members", exact.len());
            return refused(&problem, "give room for one each: anabranch_group_members");
        }
        shares.copy_from_slice(&exact);
        Ok(())
    })
}

/// Writes the length of the table by which the technique picks, and the member of each slot if `room` is enough for all
/// (else ANABRANCH_STATUS_ROOM): a flow goes to members[key % len], `key` being the low 32 bits. The length is 0 where
/// the technique computes, as "log-rendezvous" does, or remembers flows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_table(
    group: Option<&Group>,
    members: *mut u16,
    room: usize,
    len: *mut usize,
) -> Status {
    status(|| {
        let table = handle("group", group)?.0.table().unwrap_or_default();
        // SAFETY: the header says what these have to be.
        unsafe { values("members", members, room, len, &table) }
    })
}

/// Frees a group, or nothing if it is NULL. Its readers and connections go on with the plan as it is.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_group_free(group: Option<Box<Group>>) {
    let _ = answer(|| {
        drop(group);
        Ok(())
    });
}
