//! From a flow to whole packets of a cycle, as few as will do, where every switch passes on all it gets.

use crate::dbb::stages::Stages;
use anabranch_plan::{BoundedLink, FlowLink, MaxFlow, gcd, whole_flow};
use anabranch_split::PlanError;

/// How far a link may be from a whole number of packets in a cycle that counts as exact.
const EXACT: f64 = 1e-3;
/// Share of the flow below which a link carries nothing: what a solver leaves where the optimum is zero.
const NOTHING: f64 = 1e-6;
/// Distances from the flow, in packets, within which whole packets are looked for: the nearest of all links first. Within
/// one there always are some; the last makes up for the solver's error.
const DISTANCES: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0 - EXACT, 1.0 + EXACT];
/// Cycles tried, from the longest on, where none carries the whole flow.
const TRIED: u64 = 16;

/// How a flow becomes whole packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CycleUnits {
    /// Longest cycle, in packets.
    pub cycle_max: u32,
    /// Packets of a cycle over the link that carries most, where the balanced flow's exact cycle would be longer than
    /// `cycle_max`.
    pub levels: u32,
}

impl Default for CycleUnits {
    fn default() -> Self {
        Self { cycle_max: 4096, levels: 64 }
    }
}

impl CycleUnits {
    /// `links` with the packets of a cycle for a bandwidth, in proportion to `flow`; links that carry none have none.
    ///
    /// The shortest cycle that divides every share into whole packets is taken. If it were longer than `cycle_max`, the
    /// cycle has a packet, or several, for each unit of the maximum flow, every link at most a packet more or less than
    /// its share and none more than its bandwidth: as whole bandwidths have a maximum flow in whole numbers, this
    /// carries all of it. If that too is longer than `cycle_max`, the cycle has about `cycle_max` packets, and the link
    /// that is rounded up most is the bottleneck ([`CycleUnits::loss`]).
    ///
    /// # Errors
    /// A flow that has no stages ([`crate::Dispatch`]).
    pub fn round(
        &self,
        links: &[FlowLink],
        flow: &MaxFlow,
        source: u32,
        sink: u32,
    ) -> Result<Vec<FlowLink>, PlanError> {
        let shares: Vec<f64> =
            flow.shares.iter().map(|&share| if share < NOTHING { 0.0 } else { share }).collect();
        let used: Vec<FlowLink> =
            links.iter().zip(&shares).filter(|&(_, &share)| share > 0.0).map(|(&link, _)| link).collect();
        let stages = Stages::of(&used, source, sink)?;
        let packets = (1..=self.cycle_max)
            .find_map(|cycle| exact(links, &shares, &stages, cycle))
            .or_else(|| {
                let near = |cycle, repeats| nearest(links, &shares, (source, sink), cycle, repeats);
                let units = flow.value / links.iter().map(|link| link.bandwidth).fold(0, gcd).max(1);
                if units > self.cycle_max.into() {
                    let longest = u64::from(self.cycle_max.max(1));
                    let lengths = (longest.saturating_sub(TRIED - 1).max(1)..=longest).rev();
                    let lost =
                        |packets: &Vec<u64>| Self::loss(links, flow, &carrying(links, packets), source);
                    return lengths
                        .filter_map(|cycle| near(cycle, None))
                        .min_by(|one, other| lost(one).total_cmp(&lost(other)));
                }
                let most = shares.iter().copied().fold(0.0, f64::max);
                let asked = (f64::from(self.levels) / most).min(self.cycle_max.into()) as u64;
                let repeats = (asked / units).max(1);
                near(units * repeats, Some(repeats))
            })
            .ok_or_else(|| {
                PlanError::new(
                    format!("dbb: no whole packets found for the flow from switch {source} to switch {sink}"),
                    "use flow = any",
                )
            })?;
        Ok(carrying(links, &packets))
    }

    /// Part of the maximum flow of `links` that a cycle with these `packets` over each cannot carry: the link with the
    /// least bandwidth for what it is sent fills first.
    #[must_use]
    pub fn loss(links: &[FlowLink], flow: &MaxFlow, packets: &[FlowLink], source: u32) -> f64 {
        let from_source = packets.iter().filter(|link| link.from == source);
        let cycle = from_source.map(|link| link.bandwidth).sum::<u64>() as f64;
        let room = |(link, packets): (&FlowLink, &FlowLink)| {
            link.bandwidth as f64 * cycle / (flow.value as f64 * packets.bandwidth as f64)
        };
        let sent = links.iter().zip(packets).filter(|(_, packets)| packets.bandwidth > 0);
        (1.0 - sent.map(room).fold(f64::INFINITY, f64::min)).max(0.0)
    }
}

/// The links, with their packets for a bandwidth.
fn carrying(links: &[FlowLink], packets: &[u64]) -> Vec<FlowLink> {
    links.iter().zip(packets).map(|(&link, &bandwidth)| FlowLink { bandwidth, ..link }).collect()
}

/// Packets by link, if every share is a whole number of a cycle's and every switch sends what it gets.
fn exact(links: &[FlowLink], shares: &[f64], stages: &Stages, cycle: u32) -> Option<Vec<u64>> {
    let asked = shares.iter().map(|share| share * f64::from(cycle));
    if asked.clone().any(|asked| (asked - asked.round()).abs() > EXACT) {
        return None;
    }
    let packets: Vec<u64> = asked.map(|asked| asked.round() as u64).collect();
    let sum = |end: fn(&FlowLink) -> u32, switch: u32| -> u64 {
        links.iter().zip(&packets).filter(|(link, _)| end(link) == switch).map(|(_, &packets)| packets).sum()
    };
    let between = stages.switches.iter().skip(1).rev().skip(1).flatten();
    let conserved =
        between.into_iter().all(|&switch| sum(|link| link.to, switch) == sum(|link| link.from, switch));
    conserved.then_some(packets)
}

/// Packets by link of a cycle that is as near to `shares` as whole packets can be. If the cycle repeats the maximum flow
/// `repeats` times, in the links' common unit, no link gets more than its bandwidth.
fn nearest(
    links: &[FlowLink],
    shares: &[f64],
    (source, sink): (u32, u32),
    cycle: u64,
    repeats: Option<u64>,
) -> Option<Vec<u64>> {
    let unit = links.iter().map(|link| link.bandwidth).fold(0, gcd).max(1);
    let used: Vec<usize> = (0..links.len()).filter(|&link| shares[link] > 0.0).collect();
    let within = |distance: f64| {
        let bounded = |&link: &usize| {
            let FlowLink { from, to, bandwidth } = links[link];
            let asked = shares[link] * cycle as f64;
            let most = (asked + distance).floor() as u64;
            let most = repeats.map_or(most, |repeats| most.min(bandwidth / unit * repeats));
            BoundedLink { from, to, least: (asked - distance).ceil().max(0.0) as u64, most }
        };
        whole_flow(&used.iter().map(bounded).collect::<Vec<_>>(), source, sink, cycle)
    };
    let found = DISTANCES.into_iter().find_map(within)?;
    let mut packets = vec![0; links.len()];
    for (&link, units) in used.iter().zip(found) {
        packets[link] = units;
    }
    Some(packets)
}
