//! Techniques and hashes from outside: against exact arithmetic, published tables and values, other implementations.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod exactness;
mod examples;
mod hash;
mod proxies;
mod snapshots;
mod stateful;
mod tables;
mod threads;
mod vectors;
