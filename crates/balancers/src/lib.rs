//! Load balancers, one folder each.
//!
//! * `pick` is the decision: a few dozen instructions over plain data, without the standard library or the engine, so that
//!   programs of the kernel take it from the same folder.
//! * `switch` and `host` are its two halves in the simulator, behind the doors of `anabranch_sim`.
//! * `keys` shows its parameters; `descriptor` is its entry in the [`registry`], the only list; `page.md` is its page.
//!
//! Without the feature `engine` only picks are left.

#![cfg_attr(not(feature = "engine"), no_std)]

pub mod ars;
pub mod clove;
pub mod conga;
pub mod conweave;
pub mod dbb;
pub mod explicit;
pub mod flowbender;
pub mod flowcut;
pub mod glb;
pub mod hermes;
pub mod hula;
#[cfg(feature = "engine")]
pub mod ideal;
pub mod luopan;
pub mod mp_rdma;
pub mod mrc;
pub mod omniscient;
pub mod plb;
pub mod presto;
pub mod random_path;
pub mod reps;
pub mod saps;
pub mod spritz;
pub mod tables;
pub mod tdlb;
pub mod uec;
pub mod ugal;
pub mod valiant;
pub mod vms;
pub mod wino;

#[cfg(feature = "engine")]
mod choice;
#[cfg(feature = "engine")]
mod descriptor;
#[cfg(feature = "engine")]
mod granularity;
#[cfg(feature = "engine")]
mod gravity_rule;
#[cfg(feature = "engine")]
mod hosts;
#[cfg(feature = "engine")]
mod load_balancer;
#[cfg(feature = "engine")]
mod mutation;
#[cfg(feature = "engine")]
mod own;
#[cfg(feature = "engine")]
mod pair_plan;
#[cfg(feature = "engine")]
mod path_book;
#[cfg(feature = "engine")]
pub mod registry;
#[cfg(feature = "engine")]
mod round_trip;
#[cfg(feature = "engine")]
mod spraying;
#[cfg(feature = "engine")]
mod switches;
#[cfg(feature = "engine")]
mod task;
#[cfg(feature = "engine")]
mod weigher;

#[cfg(feature = "engine")]
pub use choice::{Balancing, Table};
#[cfg(feature = "engine")]
pub use descriptor::{Build, Decider, DefaultWeights, Descriptor, Elsewhere, KernelProgram, Runs};
#[cfg(feature = "engine")]
pub use granularity::Granularity;
#[cfg(feature = "engine")]
pub use gravity_rule::GravityRule;
#[cfg(feature = "engine")]
pub use load_balancer::{LoadBalancer, Scheme};
#[cfg(feature = "engine")]
pub use mutation::{MUTATIONS, Mutation};
#[cfg(feature = "engine")]
pub use own::host_rule::{Acknowledgement, HostRule, HostView, RandomBits};
#[cfg(feature = "engine")]
pub use own::picker::{PickedPacket, Picker, View};
#[cfg(feature = "engine")]
pub use own::{simulate_by_hosts, simulate_picked, simulate_weighed, simulate_with};
#[cfg(feature = "engine")]
pub use pair_plan::{PairPlan, PairPlanner, PlanColumn, PlanFact, PlanTable, PlanValue};
#[cfg(feature = "engine")]
pub use tables::Planned;
#[cfg(feature = "engine")]
pub use task::{HostMaker, Task, simulate};
#[cfg(feature = "engine")]
pub use weigher::{MemberStats, WeighedGroup, Weigher};

/// Settings of a simulation with its load balancer.
#[cfg(feature = "engine")]
pub type Settings = anabranch_sim::Settings<Balancing>;
