//! Parameter servers, a surrogate of data-parallel deep learning.

use super::{check_hosts, check_iterations, part_bytes};
use crate::{Flow, Ports, Start, TrafficError};
use anabranch_fabric::Fabric;

/// Settings of parameter servers. Every worker pushes its part of the gradients to every server; when a server has all
/// pushes, it sends its part of the parameters to every worker; when all workers have all parts, they compute, and the
/// next iteration begins (Li et al., OSDI 2014, with a barrier). It is a surrogate: it does not have the timing of a
/// real job.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterServer {
    /// Hosts that compute.
    pub workers: Vec<u32>,
    /// Hosts that hold a part of the parameters each; none of them is a worker.
    pub servers: Vec<u32>,
    /// Size of all parameters, in bytes.
    pub bytes: u64,
    /// Number of iterations.
    pub iterations: u32,
    /// Time from the last pull of an iteration to the pushes of the next, in picoseconds.
    pub compute_ps: u64,
    /// Start of the first iteration, in picoseconds.
    pub start_ps: u64,
    /// Index into the simulation's list of transports.
    pub transport: u8,
}

impl ParameterServer {
    /// Makes, in each iteration, one job per server for its pushes and one for all pulls.
    pub(super) fn flows(&self, fabric: &Fabric) -> Result<Vec<Flow>, TrafficError> {
        check_hosts(fabric, "workers", &self.workers)?;
        check_hosts(fabric, "servers", &[&self.workers[..], &self.servers].concat())?;
        for (key, hosts) in [("workers", &self.workers), ("servers", &self.servers)] {
            if hosts.is_empty() {
                return Err(TrafficError::new(key, "none", "name at least one"));
            }
        }
        let parts = self.servers.len();
        check_iterations(self.bytes, parts, self.iterations)?;
        let jobs = parts as u32 + 1;
        let mut flows = Vec::new();
        for iteration in 0..self.iterations {
            let first_job = iteration * jobs;
            let push = match first_job.checked_sub(1) {
                None => Start::At(self.start_ps),
                Some(pulls) => Start::AfterJob { job: pulls, delay_ps: self.compute_ps },
            };
            let numbered = || (first_job..).zip(self.servers.iter().enumerate());
            for (pushes, (part, &server)) in numbered() {
                let flow = |&worker| self.flow(worker, server, part, push, pushes);
                flows.extend(self.workers.iter().map(flow));
            }
            for (pushes, (part, &server)) in numbered() {
                let pull = Start::AfterJob { job: pushes, delay_ps: 0 };
                let flow = |&worker| self.flow(server, worker, part, pull, first_job + jobs - 1);
                flows.extend(self.workers.iter().map(flow));
            }
        }
        Ok(flows)
    }

    fn flow(&self, src: u32, dst: u32, part: usize, start: Start, job: u32) -> Flow {
        Flow {
            src,
            dst,
            size_bytes: part_bytes(self.bytes, self.servers.len(), part),
            start,
            path: None,
            job: Some(job),
            transport: self.transport,
            ports: Ports::CHOSEN,
        }
    }
}
