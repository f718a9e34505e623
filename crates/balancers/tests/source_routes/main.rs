//! Schemes that route at the source leaf, on the fabrics of their papers: Luopan, its omniscient ideal, TDLB.

#![allow(clippy::unwrap_used)] // A test may fail, its parts too.

#[path = "../engine/setup.rs"]
mod setup;

mod asymmetry;
mod failures;
mod fat_tree;
mod last_hop;
mod probed_pairs;
mod probes;
