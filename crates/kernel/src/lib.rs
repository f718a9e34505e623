//! The kernel's datapath: plans as eBPF programs read them ([`layout`]); feature `load` adds how they are made from
//! weights ([`group`], [`body`]), and the programs in the kernel: tried on single packets ([`program`]), or pinned and
//! attached to devices ([`datapath`], [`link`]). The programs themselves are in `ebpf/`, a workspace of its own.

#![no_std]

#[cfg(feature = "load")]
extern crate std;

pub mod layout;

#[cfg(feature = "load")]
pub mod body;
#[cfg(feature = "load")]
mod capacity;
#[cfg(feature = "load")]
pub mod datapath;
#[cfg(feature = "load")]
pub mod error;
#[cfg(feature = "load")]
pub mod file_system;
#[cfg(feature = "load")]
mod folder;
#[cfg(feature = "load")]
mod grace;
#[cfg(feature = "load")]
pub mod group;
#[cfg(feature = "load")]
pub mod home;
#[cfg(feature = "load")]
pub mod link;
#[cfg(feature = "load")]
mod maps;
#[cfg(feature = "load")]
mod object;
#[cfg(feature = "load")]
mod observed;
#[cfg(feature = "load")]
mod pins;
#[cfg(feature = "load")]
pub mod probe;
#[cfg(feature = "load")]
pub mod program;
#[cfg(feature = "load")]
pub mod trial;

#[cfg(feature = "load")]
pub use body::{cycle, shares};
#[cfg(feature = "load")]
pub use capacity::Capacity;
#[cfg(feature = "load")]
pub use datapath::Datapath;
#[cfg(feature = "load")]
pub use error::KernelError;
#[cfg(feature = "load")]
pub use group::{Group, Member, Prefix};
#[cfg(feature = "load")]
pub use home::Tables;
#[cfg(feature = "load")]
pub use layout::Output;
#[cfg(feature = "load")]
pub use link::{Attachment, Hook};
#[cfg(feature = "load")]
pub use object::Object;
#[cfg(feature = "load")]
pub use probe::features;
#[cfg(feature = "load")]
pub use program::Program;
