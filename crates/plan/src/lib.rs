//! Where weights come from: routes and capacities become groups of weighted members.

mod balancing;
mod groups;
mod polarisation;
mod selection;
mod weights;

#[cfg(test)]
mod tests;

pub use balancing::{Balancing, Granularity, Scheme, Table, Weighing};
pub use groups::{Group, Groups, Member};
pub use polarisation::{TierUse, upward_use};
pub use selection::selection_hash;
