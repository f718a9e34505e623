#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
pub(crate) mod descriptor;
#[cfg(feature = "engine")]
mod host;
#[cfg(feature = "engine")]
mod keys;
pub mod pick;
#[cfg(feature = "engine")]
pub(crate) mod switch;

#[cfg(feature = "engine")]
pub use descriptor::{EXPLICIT, missing_pair};
