//! Picks that leave no member above its share by more than a bound.

use crate::argument::{array, handle, result};
use crate::group::Group;
use crate::outcome::{Status, status};

/// Picks and writes the member of a new connection, so that none gets more than ceil((1 + eps) w / W (m + 1)) of them: m
/// connections live on members that are up, w is the member's weight and W that of all which are up. `loads` are the live
/// connections of each of the `members` members, which you count, as you remember the member of each connection. It is
/// anabranch_group_pick's member while that one is below its bound. `eps` is from 0.000001 to 1024. For techniques of
/// granularity "stateless".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_pick_bounded(
    group: Option<&Group>,
    key: u64,
    loads: *const u64,
    members: usize,
    eps: f64,
    member: *mut u16,
) -> Status {
    status(|| {
        let group = handle("group", group)?;
        // SAFETY: the header says what these have to be.
        let (loads, member) = unsafe { (array("loads", loads, members)?, result("member", member)?) };
        member.write(group.0.pick_bounded(key, loads, eps)?);
        Ok(())
    })
}
