//! Members that get their share little by little.

use crate::argument::{array, handle};
use crate::group::{Asked, Group};
use crate::outcome::{Status, status};

/// No age: a member that is not starting, as one older than any window is not.
pub const NO_AGE: u64 = u64::MAX;

/// Slow start of members: one that began so long ago gets max(min_percent / 100, (age / window)^(1 / aggression)) of its
/// weight.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowStart {
    /// Time in nanoseconds after which a member has its whole weight, positive.
    pub window_ns: u64,
    /// Aggression, positive: 1 is a straight line, more is faster at first.
    pub aggression: f64,
    /// Percentage of its weight that a member has from the beginning, 0 to 100.
    pub min_percent: f64,
}

/// Plans anew as anabranch_group_update does, of members of which some are starting. `ages_ns` has the time since each
/// began, ANABRANCH_NO_AGE for one that is not starting. Call it again as they age, every second, say: all steps together
/// move what one change would. The sum of the weights is at most 2^37 while a member is starting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_group_slow_start(
    group: Option<&Group>,
    rule: SlowStart,
    ages_ns: *const u64,
    weights: *const u64,
    up: *const u8,
    members: usize,
) -> Status {
    status(|| {
        let group = handle("group", group)?;
        // SAFETY: the header says what these have to be.
        let (ages_ns, asked) =
            unsafe { (array("ages_ns", ages_ns, members)?, Asked::new(weights, up, members)?) };
        let rule = anabranch_split::SlowStart::new(rule.window_ns, rule.aggression, rule.min_percent)?;
        let ages_ns = ages_ns.iter().copied().map(Some).collect::<Vec<_>>();
        Ok(group.0.update_with(|before| rule.lessened(&asked.members(before)?, &ages_ns))?)
    })
}
