//! Workloads: settings from which lists of flows are made.

mod graph;
mod incast;
mod once;
mod parameter_server;
mod poisson;
mod ring_all_reduce;

pub use graph::{Job, PlacedWork, Placement, arrivals_ps, skewed_blocks};
pub use incast::{Clients, Incast, JobRate};
pub use once::Once;
pub use parameter_server::ParameterServer;
pub use poisson::{Amount, Arrivals, Poisson};
pub(crate) use poisson::{PoissonDraws, PoissonPass};
pub use ring_all_reduce::RingAllReduce;

use crate::{Flow, PackedFlows, TrafficError};
use anabranch_fabric::Fabric;
use std::sync::Arc;

/// Kind of traffic; a simulation may carry several at once, see [`crate::merged_flows`].
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Flows that arrive at random times.
    Poisson(Poisson),
    /// One flow from every sender of a pattern, all at once.
    Once(Once),
    /// Many servers that answer one client at once.
    Incast(Incast),
    /// Gradients summed around a ring of workers.
    RingAllReduce(RingAllReduce),
    /// Gradients pushed to servers, and parameters pulled from them.
    ParameterServer(ParameterServer),
    /// Messages of a workload graph.
    Graph(Job),
    /// List of flows as given.
    Given(Arc<PackedFlows>),
}

impl Workload {
    /// Makes the flows, in the order in which they begin; those of a given list keep its order. Times are whole
    /// nanoseconds, so that a list written as CSV is the list that was simulated.
    ///
    /// # Errors
    /// Names the first setting that is wrong on this fabric, or on any.
    pub fn flows(&self, fabric: &Fabric, seed: u64) -> Result<Vec<Flow>, TrafficError> {
        match self {
            Self::Poisson(poisson) => poisson.flows(fabric, seed),
            Self::Once(once) => once.flows(fabric, seed),
            Self::Incast(incast) => incast.flows(fabric, seed),
            Self::RingAllReduce(ring) => ring.flows(fabric),
            Self::ParameterServer(servers) => servers.flows(fabric),
            Self::Graph(job) => job.flows(fabric),
            Self::Given(flows) => Ok(flows.iter().collect()),
        }
    }
}

/// Converts the current time of arrivals to picoseconds, rounded down to a whole nanosecond.
fn whole_ns(time_ns: f64) -> u64 {
    time_ns as u64 * 1000
}

/// Refuses hosts that the fabric does not have, and hosts named twice.
fn check_hosts(fabric: &Fabric, key: &'static str, hosts: &[u32]) -> Result<(), TrafficError> {
    let mut sorted = hosts.to_vec();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    let beyond = sorted.last().copied().filter(|&host| host >= fabric.named_hosts());
    match twice.or(beyond) {
        Some(host) => Err(TrafficError::new(
            key,
            format!("host {host}"),
            format!("name hosts from 0 to {}, each once", fabric.named_hosts().saturating_sub(1)),
        )),
        None => Ok(()),
    }
}

/// Size of part `index` of `bytes` in `parts`: the parts are as equal as whole bytes allow.
fn part_bytes(bytes: u64, parts: usize, index: usize) -> u64 {
    let upto = |index: usize| (u128::from(bytes) * index as u128 / parts as u128) as u64;
    upto(index + 1) - upto(index)
}

/// Refuses iterations without work, and parts without a byte.
fn check_iterations(bytes: u64, parts: usize, iterations: u32) -> Result<(), TrafficError> {
    if bytes < parts as u64 {
        return Err(TrafficError::new(
            "size",
            format!("{bytes} bytes in {parts} parts"),
            "give every part at least one byte",
        ));
    }
    if iterations == 0 {
        return Err(TrafficError::new("iterations", "0", "ask for at least one"));
    }
    Ok(())
}
