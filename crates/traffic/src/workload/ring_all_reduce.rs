//! Ring all-reduce, a surrogate of data-parallel deep learning.

use super::{check_hosts, check_iterations, part_bytes};
use crate::{Flow, Ports, Start, TrafficError};
use anabranch_fabric::Fabric;

/// Settings of a ring all-reduce. Workers around a ring sum a vector in chunks (Patarasuk and Yuan, JPDC 2009): N - 1
/// steps of reduce-scatter, then N - 1 of all-gather. In each step every worker sends one chunk of 1/N to its right
/// neighbour, once the chunk of the step before has come from its left. It is a surrogate: it does not have the timing
/// of a real job.
#[derive(Clone, Debug, PartialEq)]
pub struct RingAllReduce {
    /// Workers in the order of the ring.
    pub workers: Vec<u32>,
    /// Size of the vector, in bytes.
    pub bytes: u64,
    /// Number of iterations.
    pub iterations: u32,
    /// Time from a worker's last chunk of an iteration to its first of the next, in picoseconds.
    pub compute_ps: u64,
    /// Start of the first iteration, in picoseconds.
    pub start_ps: u64,
    /// Index into the simulation's list of transports.
    pub transport: u8,
}

impl RingAllReduce {
    /// Makes one job per iteration.
    pub(super) fn flows(&self, fabric: &Fabric) -> Result<Vec<Flow>, TrafficError> {
        let n = self.workers.len();
        check_hosts(fabric, "workers", &self.workers)?;
        if n < 2 {
            return Err(TrafficError::new("workers", format!("a ring of {n}"), "name two workers or more"));
        }
        check_iterations(self.bytes, n, self.iterations)?;
        let steps = 2 * (n - 1);
        let mut flows: Vec<Flow> = Vec::new();
        for iteration in 0..self.iterations {
            for step in 0..steps {
                for worker in 0..n {
                    let left = (worker + n - 1) % n;
                    // The flow of the step before that came to this worker; in the very first step there is none.
                    let awaited = (flows.len() - worker + left).checked_sub(n);
                    let delay_ps = if step == 0 { self.compute_ps } else { 0 };
                    let start = match awaited {
                        Some(flow) => Start::After { flow: flow as u32, delay_ps },
                        None => Start::At(self.start_ps),
                    };
                    flows.push(Flow {
                        src: self.workers[worker],
                        dst: self.workers[(worker + 1) % n],
                        // What came from the left in the step before goes on to the right.
                        size_bytes: part_bytes(self.bytes, n, (worker + 2 * n - step) % n),
                        start,
                        path: None,
                        job: Some(iteration),
                        transport: self.transport,
                        ports: Ports::CHOSEN,
                    });
                }
            }
        }
        Ok(flows)
    }
}
