//! Threads of one simulation: into which parts its fabric is cut, and when one thread is better.

use crate::{Resolved, expected};
use anabranch_balancers::Task;
use anabranch_fabric::segments;
use anabranch_sim::{Partition, Progress, SimulationError, lookahead_ps};
use anabranch_traffic::FlowSource;
use std::thread::available_parallelism;

/// Packet-hops that each part must expect in a window, or meetings cost more than they bring (`docs/threads.md`).
const HOPS_PER_WINDOW_MIN: u64 = 128;

/// Packet-hops that a run must expect for each port of its fabric, or what each part sets up of it costs more than it brings
/// (`docs/threads.md`).
const HOPS_PER_PORT_MIN: u64 = 32;

impl Resolved {
    /// Parts for at most so many threads, or what keeps it on one. `anyway`: even where meetings cost more than they bring.
    ///
    /// # Errors
    /// Settings that contradict the fabric or the flows.
    pub fn parts(
        &self,
        flows: &impl FlowSource,
        threads: u32,
        anyway: bool,
    ) -> Result<Result<Partition, String>, SimulationError> {
        let (fabric, settings) = (self.fabric(), self.settings());
        let segments = segments(fabric);
        // Within a segment leaves are apart, and servers are in several parts.
        let groups = if segments.len() > 1 { segments.len() } else { segments.concat().len() };
        let cores = available_parallelism().map_or(1, usize::from) as u32;
        let threads = threads.min(groups as u32).min(if anyway { u32::MAX } else { cores });
        if threads < 2 {
            let what = if groups < 2 { "a fabric with one leaf" } else { "on a machine with one core" };
            return Ok(Err(what.to_owned()));
        }
        let hops = expected::packet_hops(fabric, settings, flows);
        let first_ps = flows.outline().starts_ps.unwrap_or_default().0;
        let duration_ps = expected::duration_ps(fabric, flows).max(1);
        let simulated_ps = settings.end_ps.saturating_sub(first_ps).min(duration_ps);
        let simulated = u128::from(hops) * u128::from(simulated_ps) / u128::from(duration_ps);
        let of_port = simulated / fabric.ports().len() as u128;
        if of_port < HOPS_PER_PORT_MIN.into() && !anyway {
            return Ok(Err(format!(
                "a run of {of_port} packet-hops for each port, all of which each thread sets up"
            )));
        }
        let progress = Progress::default();
        let task = Task::new(fabric, flows, settings, &progress)?;
        let mut partition = Partition::by_leaves(fabric, threads);
        loop {
            if let Some(what) = task.one_thread(&partition) {
                return Ok(Err(what.to_owned()));
            }
            let window_ps = lookahead_ps(fabric, flows, settings, &partition);
            let windows = (duration_ps / window_ps).max(1);
            let worth = worthwhile(partition.count(), hops / windows);
            if anyway || worth == partition.count() {
                break;
            }
            if worth < 2 {
                let in_window = hops / windows / 2;
                return Ok(Err(format!(
                    "a window of {} ns with {in_window} packet-hops for each of two threads",
                    window_ps / 1000
                )));
            }
            // Another cut may have another reason, and another window.
            partition = Partition::by_leaves(fabric, worth);
        }
        Ok(Ok(partition))
    }
}

/// The most threads, of so many, that each expect enough of the packet-hops in a window.
fn worthwhile(threads: u32, in_window: u64) -> u32 {
    threads.min(u32::try_from(in_window / HOPS_PER_WINDOW_MIN).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_are_taken_as_windows_are_full_for() {
        let taken = [0, 255, 256, 1000, u64::MAX].map(|in_window| worthwhile(8, in_window));
        assert_eq!(taken, [0, 1, 2, 7, 8]);
    }
}
