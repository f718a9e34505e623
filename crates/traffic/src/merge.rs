//! Several workloads merged into one list.

use crate::random::Stream;
use crate::{Flow, Start, TrafficError, Workload};
use anabranch_fabric::Fabric;

/// Merges the flows of several workloads by the earliest time at which they may begin, ties in the order of the
/// workloads. Every workload draws from a seed of its own, and its jobs follow those of the workloads before it. The
/// flows of a single workload keep their order. Flows within a server go from one scale-up port to another.
///
/// # Errors
/// Returns a workload's error, and refuses more flows or jobs than indexes hold.
pub fn merged_flows(workloads: &[Workload], fabric: &Fabric, seed: u64) -> Result<Vec<Flow>, TrafficError> {
    let mut lists = Vec::with_capacity(workloads.len());
    let (mut flows_before, mut jobs_before) = (0u64, 0u64);
    let mut works_before = 0;
    for (index, workload) in (0..).zip(workloads) {
        let mut flows = workload.flows(fabric, workload_seed(seed, index))?;
        let jobs = flows.iter().filter_map(|flow| flow.job).max().map_or(0, |job| u64::from(job) + 1);
        check_number(index, flows_before + flows.len() as u64, jobs_before + jobs)?;
        let shift = jobs_before as u32;
        for flow in &mut flows {
            if let Some(servers) = fabric.servers() {
                (flow.src, flow.dst) = servers.ends(flow.src, flow.dst);
            }
            flow.job = flow.job.map(|job| job + shift);
            match &mut flow.start {
                Start::AfterJob { job, .. } => *job += shift,
                Start::Ready { work, .. } => *work += works_before,
                Start::At(_) | Start::After { .. } => {}
            }
        }
        works_before += u32::from(matches!(workload, Workload::Graph(_)));
        flows_before += flows.len() as u64;
        jobs_before += jobs;
        lists.push(flows);
    }
    if lists.len() == 1 {
        return Ok(lists.remove(0));
    }
    Ok(sorted(&lists))
}

/// Seed of one workload among several.
pub(crate) fn workload_seed(seed: u64, index: u32) -> u64 {
    Stream::of_entity(seed, "workload", index).bits()
}

/// Refuses more flows or jobs, up to those of workload `index`, than indexes hold.
pub(crate) fn check_number(index: u32, flows: u64, jobs: u64) -> Result<(), TrafficError> {
    if flows > u32::MAX.into() || jobs > u32::MAX.into() {
        return Err(TrafficError::new(
            None,
            format!("workload {index}: more than 2^32 flows or jobs in all"),
            "ask for fewer flows",
        ));
    }
    Ok(())
}

/// Sorts all flows by their earliest start, and renumbers the flows that others wait for.
fn sorted(lists: &[Vec<Flow>]) -> Vec<Flow> {
    let mut order: Vec<(u64, usize, usize)> = Vec::new();
    for (list, flows) in lists.iter().enumerate() {
        let earliest = earliest_ps(flows);
        order.extend(earliest.into_iter().enumerate().map(|(index, at_ps)| (at_ps, list, index)));
    }
    order.sort_unstable();
    let mut number: Vec<Vec<u32>> = lists.iter().map(|flows| vec![0; flows.len()]).collect();
    for (new, &(_, list, index)) in (0..).zip(&order) {
        number[list][index] = new;
    }
    let renumbered = |&(_, list, index): &(u64, usize, usize)| {
        let mut flow = lists[list][index];
        if let Start::After { flow: awaited, .. } = &mut flow.start {
            *awaited = number[list][*awaited as usize];
        }
        flow
    };
    order.iter().map(renumbered).collect()
}

/// Earliest time at which each flow may begin: a flow that is waited for may end as soon as it begins. It is never
/// before that of the awaited flow, so an order by this time keeps awaited flows before waiting ones.
fn earliest_ps(flows: &[Flow]) -> Vec<u64> {
    let mut earliest: Vec<u64> = Vec::with_capacity(flows.len());
    // By job: the latest of its flows so far.
    let mut jobs: std::collections::BTreeMap<u32, u64> = std::collections::BTreeMap::new();
    for flow in flows {
        let at_ps = match flow.start {
            Start::At(at_ps) => at_ps,
            Start::After { flow, delay_ps } => earliest[flow as usize].saturating_add(delay_ps),
            Start::AfterJob { job, delay_ps } => {
                jobs.get(&job).map_or(0, |at_ps| at_ps.saturating_add(delay_ps))
            }
            // Its graph may let it start at once.
            Start::Ready { .. } => 0,
        };
        if let Some(job) = flow.job {
            let latest = jobs.entry(job).or_default();
            *latest = at_ps.max(*latest);
        }
        earliest.push(at_ps);
    }
    earliest
}
