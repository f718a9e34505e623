//! Workloads on small fabrics: rates, destinations, dependencies, merging.

mod collectives;
mod incast;
mod load;
mod merging;
mod patterns;
mod setup;
