#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod host;
#[cfg(feature = "engine")]
mod keys;
pub mod pick;

#[cfg(feature = "engine")]
pub use descriptor::{SPRITZ_SCOUT, SPRITZ_SPRAY};
