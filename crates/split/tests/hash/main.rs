//! Hashes: their list, published values, other implementations, and what switches need of them.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod by_name;
mod open_vswitch;
mod published;
mod stages;
