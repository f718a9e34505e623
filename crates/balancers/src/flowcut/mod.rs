#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
pub mod header;
#[cfg(feature = "engine")]
pub(crate) mod keys;
pub mod pick;
#[cfg(feature = "engine")]
mod switch;

#[cfg(feature = "engine")]
pub use descriptor::FLOWCUT;
