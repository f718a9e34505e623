//! Fabrics from outside: topologies against their definitions, next hops and cuts against other algorithms, GraphML.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod alike_leaves;
mod cuts_and_paths;
mod detours;
mod dragonfly;
mod graphml;
mod links_of_hosts;
mod multi_plane;
mod next_hops;
mod plain_topologies;
mod rail_optimised;
mod slim_fly;
