#![doc = include_str!("page.md")]

#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod host;
#[cfg(feature = "engine")]
pub(crate) mod keys;
pub mod pick;

#[cfg(feature = "engine")]
pub use descriptor::MP_RDMA;
