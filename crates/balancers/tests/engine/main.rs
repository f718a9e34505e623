//! The whole engine against formulas, and its promises: determinism, order, nothing lost unaccounted.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod accelerator_fabrics;
mod answers;
mod balancing;
mod barriers;
mod cards;
mod classes;
mod clocks;
mod closed_forms;
mod connections;
mod conservation;
mod dbb;
mod determinism;
mod edges;
mod failures;
mod host_schemes;
mod mp_rdma;
mod mptcp;
mod mrc;
mod own_scheme;
mod paced;
mod partitions;
mod pinning;
mod planned;
mod queue_pairs;
mod queueing;
mod received;
mod roce;
mod saps;
mod sends;
mod setup;
mod shared_buffers;
mod ties;
mod uec;
mod wino;
mod work;
