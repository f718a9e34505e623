//! Weighted path selection, cut at the boundary between slow and fast.
//!
//! * **pick** ([`picks`]): a few dozen instructions over plain data; `no_std`, no allocation, no panic path, generic
//!   over the environment that runs it ([`Env`]), so that simulator, library and kernel share one source.
//! * **plan** ([`apportion`], [`control`], [`technique`], feature `plan`): turns weights into that data. May allocate
//!   and sort.
//! * **hash** ([`hash`], feature `plan` except for one function): from the 5-tuple of a packet to the key that
//!   [`picks`] picks by.

#![no_std]
#![deny(unsafe_code)]

#[cfg(feature = "plan")]
extern crate std;

mod env;
pub mod hash;
pub mod picks;
pub mod prefetch;
mod tuple;

#[cfg(feature = "plan")]
pub mod apportion;
#[cfg(feature = "plan")]
pub mod control;
#[cfg(feature = "plan")]
pub mod technique;
#[cfg(feature = "plan")]
mod weights;

pub use env::{Env, Still, capability, random_below};
pub use picks::{Packet, Pick, pick};
pub use tuple::{FiveTuple, protocol};
#[cfg(feature = "plan")]
pub use weights::{Members, PlanError, Weights};
