#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
pub(crate) mod keys;
#[cfg(feature = "engine")]
mod leaf;
#[cfg(feature = "engine")]
pub mod parameters;
pub mod pick;
#[cfg(feature = "engine")]
mod probe_load;
#[cfg(feature = "engine")]
mod switch;

#[cfg(feature = "engine")]
pub use descriptor::TDLB;
