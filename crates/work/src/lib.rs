//! Workload graphs: messages and computing with dependencies, the formats of files that describe them, collectives.
//!
//! A [`Graph`] has nodes per rank that send, receive and compute. [`Execution`] runs it without a network or a clock of
//! its own; the packet simulator, [`loggops`] and [`links`] bring theirs.

mod accelerator;
pub mod aicb;
mod builder;
mod chains;
pub mod chakra;
mod check;
pub mod collective;
pub mod connection_matrix;
mod execution;
pub mod goal;
mod graph;
pub mod inference;
pub mod links;
mod lists;
pub mod loggops;
mod mailbox;
pub mod msccl;
mod node;
pub mod read;
mod rendezvous;
mod repeated;
mod requests;
pub mod training;
mod work_error;

pub use accelerator::Accelerator;
pub use builder::Builder;
pub use execution::{Effect, Execution, NEVER_PS, NodeTimes};
pub use graph::{Graph, Part};
pub use node::{Act, Node, NodeId};
pub use rendezvous::{CONTROL_BYTES, Rendezvous};
pub use requests::Request;
pub use work_error::WorkError;

/// Most messages of a graph: more would take more memory than machines have.
pub const MESSAGES_MAX: u64 = 100_000_000;
