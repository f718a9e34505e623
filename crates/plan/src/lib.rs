//! Weights of groups, from routes and capacities.

mod divisor;
mod groups;
mod max_flow;
mod polarisation;
mod selection;
mod weights;
mod whole_flow;

#[cfg(test)]
mod tests;

pub use divisor::gcd;
pub use groups::{Group, Groups};
pub use max_flow::{FlowChoice, FlowLink, MaxFlow};
pub use polarisation::{TierUse, upward_use};
pub use selection::selection_hash;
pub use weights::{Member, Weighing};
pub use whole_flow::{BoundedLink, whole_flow};
