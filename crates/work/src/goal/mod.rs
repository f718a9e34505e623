//! GOAL schedules (Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language", ICPP 2009), as LogGOPSim writes
//! them: text and binary.

mod binary;
mod text;

pub use binary::{MAGIC, read_binary};
pub use text::read_text;

/// Picoseconds in GOAL's unit of time, the nanosecond.
const PS_PER_NS: u64 = 1000;

/// Any source or any tag, as both forms write it: -1.
const ANY: u32 = u32::MAX;

/// A source or a tag that may be any.
fn known(number: u32) -> Option<u32> {
    (number != ANY).then_some(number)
}
