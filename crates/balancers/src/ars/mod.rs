#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
pub(crate) mod keys;
pub mod load;
pub mod pick;
#[cfg(feature = "engine")]
pub(crate) mod switch;

#[cfg(feature = "engine")]
pub use descriptor::ARS;
