//! Fabrics: nodes, ports, changes and failures, and the paths between hosts.
//!
//! A fabric is a list of nodes and a list of ports. A port is the sending end of one direction of a link; the two
//! directions of a link are two ports that name each other. Hosts are the first nodes, so a host's number is its node's
//! number; they are numbered leaf by leaf, but in a fabric of rails server by server, and in a graph in
//! the graph's order. A host has one link; where a machine has several, a network card stands between, a switch that
//! nothing passes through.

pub mod capacity;
mod change;
mod detours;
mod fabric;
mod graph;
pub mod ideal;
mod next_hops;
mod path_table;
pub mod paths;
pub mod quantity;
mod racks;
mod rate;
mod round_trip;
mod servers;
mod switch;
pub mod topology;
pub mod topology_file;

pub use change::{Change, What};
pub use detours::DetourGroups;
pub use fabric::{Buffer, Fabric, FabricError, Marking, Node, Port, Tier};
pub use graph::{Graph, GraphLink, GraphNode};
pub use next_hops::{LinkState, NextHops};
pub use path_table::{ExplicitPath, LINKS_MAX, PathTable};
pub use racks::{Racks, segments};
pub use rate::{Rate, Serialization};
pub use round_trip::longest_round_trip_ps;
pub use servers::Servers;
pub use switch::{CLASSES, ClassSettings, MarkAt, Refresh, Service, SharedBuffer, SwitchSettings};
