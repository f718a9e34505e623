#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod host;
#[cfg(feature = "engine")]
pub(crate) mod keys;
pub mod pick;
#[cfg(feature = "engine")]
mod settings;

#[cfg(feature = "engine")]
pub use descriptor::{VMS, VMS_VALO, VMS_WINDOW};
#[cfg(feature = "engine")]
pub use settings::Vms;
