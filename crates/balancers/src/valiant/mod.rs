#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
pub(crate) mod detours;
pub mod pick;

#[cfg(feature = "engine")]
pub use descriptor::VALIANT;
