#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod controller;
#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod host;
#[cfg(feature = "engine")]
pub(crate) mod keys;
#[cfg(feature = "engine")]
mod pair_path;
#[cfg(feature = "engine")]
mod pair_plan;
#[cfg(feature = "engine")]
pub mod parameters;
pub mod pick;
#[cfg(feature = "engine")]
mod switch;

#[cfg(feature = "engine")]
pub use descriptor::WINO;
