//! Weights of groups, from routes and capacities.

mod divisor;
mod groups;
mod max_flow;
mod parts;
mod polarisation;
mod selection;
mod slices;
mod weights;
mod whole_flow;

#[cfg(test)]
mod tests;

pub use divisor::gcd;
pub use groups::{Group, Groups};
pub use max_flow::{FlowChoice, FlowLink, MaxFlow};
pub use parts::Parts;
pub use polarisation::{Probe, TierUse, upward_use};
pub use selection::selection_hash;
pub use slices::{
    Residual, SliceOrder, SlicePick, SliceRule, SliceScope, Slices, meter_error_percent, metered_frames,
    outside_bps, overflow_bps,
};
pub use weights::{Member, Weighing};
pub use whole_flow::{BoundedLink, whole_flow};
