#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
pub mod pick;

#[cfg(feature = "engine")]
pub use descriptor::VALIANT;
