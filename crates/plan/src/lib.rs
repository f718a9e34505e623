//! Where weights come from: routes and capacities become groups of weighted members.

mod balancing;
mod groups;
mod polarisation;
pub mod presto;
mod sampling;
mod selection;
mod tdlb;
mod weights;

#[cfg(test)]
mod tests;

pub use balancing::{Balancing, Granularity, Scheme, Table, Weighing};
pub use groups::{Group, Groups, Member};
pub use polarisation::{TierUse, upward_use};
pub use sampling::{Cells, Luopan, Metric};
pub use selection::selection_hash;
pub use tdlb::{DelayFeedback, Tdlb};
