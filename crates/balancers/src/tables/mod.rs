//! Tables of weights in switches: granularity, weights and table combine freely.

#[cfg(feature = "engine")]
mod descriptor;
pub mod drill;
#[cfg(feature = "engine")]
pub(crate) mod planned;
#[cfg(feature = "engine")]
pub(crate) mod plans;
#[cfg(feature = "engine")]
pub(crate) mod table;
#[cfg(feature = "engine")]
pub(crate) mod weighed;

#[cfg(feature = "engine")]
pub use descriptor::{TABLES, WCMP_ENTRIES};
#[cfg(feature = "engine")]
pub use planned::Planned;
