#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod express;
#[cfg(feature = "engine")]
mod gauge;
#[cfg(feature = "engine")]
pub(crate) mod keys;
#[cfg(feature = "engine")]
pub mod parameters;
pub mod pick;
#[cfg(feature = "engine")]
mod switch;

#[cfg(feature = "engine")]
pub use descriptor::LUOPAN;
