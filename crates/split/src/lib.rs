//! Weighted path selection: a [`Group`] of members with weights, and the member of each packet.
//!
//! A group is planned by one of the [`TECHNIQUES`], picked from by any number of threads, and changed meanwhile: other
//! weights, failures, further members. `docs/embedding.md` has examples, what threads may do, and what it costs.
//!
//! What has no page here serves the other crates of the tree and changes without notice. It is cut at the boundary
//! between slow and fast:
//!
//! * **pick** (`picks`): a few dozen instructions over plain data; `no_std`, no allocation, no panic path, generic over
//!   the environment that runs it (`Env`), so that simulator, library and kernel share one source.
//! * **plan** (`apportion`, `control`, `technique`, feature `plan`): turns weights into that data. May allocate and
//!   sort.
//! * **hash** (`hash`, feature `plan` except for one function): from the 5-tuple of a packet to the key that picks go by.

#![no_std]
#![deny(unsafe_code)]

#[cfg(feature = "plan")]
extern crate std;

mod env;
#[doc(hidden)]
pub mod hash;
#[doc(hidden)]
pub mod picks;
#[doc(hidden)]
pub mod prefetch;
mod tuple;

#[cfg(feature = "plan")]
#[doc(hidden)]
pub mod apportion;
#[cfg(feature = "plan")]
#[doc(hidden)]
pub mod control;
#[cfg(feature = "plan")]
mod group;
#[cfg(feature = "plan")]
mod history;
#[cfg(feature = "plan")]
mod slow_start;
#[cfg(feature = "plan")]
#[doc(hidden)]
pub mod technique;
#[cfg(feature = "plan")]
mod weights;

#[doc(hidden)]
pub use env::{Env, Still, capability, random_below};
#[doc(hidden)]
pub use picks::{Packet, Pick, pick};

#[cfg(feature = "plan")]
pub use group::{Connections, Group, Reader, Revision};
#[cfg(feature = "plan")]
pub use hash::Hash;
#[cfg(feature = "plan")]
pub use slow_start::SlowStart;
#[cfg(feature = "plan")]
pub use technique::{Batch, Granularity, Parameters, Row, Step, TECHNIQUES};
pub use tuple::{FiveTuple, protocol};
#[cfg(feature = "plan")]
pub use weights::{Members, PlanError, Weights};
