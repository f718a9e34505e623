#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
pub(crate) mod keys;
#[cfg(feature = "engine")]
mod neighbours;
pub mod pick;

#[cfg(feature = "engine")]
pub use descriptor::GLB;
