#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod host;
#[cfg(feature = "engine")]
pub(crate) mod keys;
pub mod pick;
pub mod recycle;

#[cfg(feature = "engine")]
pub use descriptor::{REPS_LEGACY, Rule, Spraying, UEC_BITMAP, UEC_MIXED, UEC_OBLIVIOUS};
