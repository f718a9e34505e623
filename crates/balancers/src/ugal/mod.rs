#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod keys;
pub mod pick;

#[cfg(feature = "engine")]
pub use descriptor::{UGAL_G, UGAL_L};
