//! Where weights come from: routes and capacities become groups of weighted members.

mod balancing;
mod cycle_units;
mod dbb;
mod dispatch;
mod divisor;
mod groups;
mod max_flow;
mod microslice;
mod polarisation;
pub mod presto;
mod sampling;
mod selection;
mod stages;
mod tdlb;
mod virtual_topology;
mod weights;
mod wino;

#[cfg(test)]
mod tests;

pub use balancing::{Balancing, Granularity, Scheme, Table, Weighing};
pub use cycle_units::CycleUnits;
pub use dbb::{Dbb, PairBandwidth};
pub use dispatch::{Dispatch, DispatchRule};
pub use groups::{Group, Groups};
pub use max_flow::{FlowChoice, FlowLink, MaxFlow};
pub use microslice::{SliceOrder, SlicePick, SliceRule, SliceScope, Slices, meter_error_percent};
pub use polarisation::{TierUse, upward_use};
pub use sampling::{Cells, Luopan, Metric};
pub use selection::selection_hash;
pub use tdlb::{DelayFeedback, Tdlb};
pub use virtual_topology::{Saps, VirtualTopology, virtual_topologies};
pub use weights::Member;
pub use wino::{SliceBandwidth, Wino};
