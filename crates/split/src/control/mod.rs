//! Control half of one group: its members into the plain data that picks read, with the history that re-planning keeps.
//!
//! Library ([`crate::technique`]), simulator and kernel programs share it, so that a group has the same plan wherever it
//! runs. What has no history is a function of the weights and stands in [`crate::apportion`].

mod entries;
mod slots;

pub(crate) use entries::too_few;
pub use entries::{buckets, living, runs, shares, wcmp};
pub use slots::SlotTable;

use crate::PlanError;
use std::format;

/// Refuses more members than a plan's layout holds.
///
/// # Errors
/// Names the layout, both numbers, and what holds more.
pub fn check_members(layout: &str, members: usize, most: usize) -> Result<(), PlanError> {
    if members <= most {
        return Ok(());
    }
    Err(PlanError::new(
        format!("weights: {members} members for {layout}"),
        format!("it holds at most {most}: use wcmp or valo, which hold more"),
    ))
}
