//! Schemes that route at the source leaf, on the fabrics of their papers: Luopan, its omniscient ideal, random paths, TDLB.

mod asymmetry;
mod failures;
mod fat_tree;
mod last_hop;
mod probed_pairs;
mod probes;
mod random_path;
