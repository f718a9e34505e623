#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
pub mod cycle_units;
#[cfg(feature = "engine")]
mod cycles;
#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
pub mod dispatch;
#[cfg(feature = "engine")]
pub(crate) mod keys;
#[cfg(feature = "engine")]
mod pair_plan;
#[cfg(feature = "engine")]
pub mod parameters;
pub mod pick;
#[cfg(feature = "engine")]
mod stages;
#[cfg(feature = "engine")]
mod switch;

#[cfg(feature = "engine")]
pub use descriptor::DBB;
