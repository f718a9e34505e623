//! Workloads on small fabrics: rates, destinations, dependencies, merging.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod collectives;
mod incast;
mod load;
mod merging;
mod patterns;
mod setup;
