//! From a flow to whole packets of a cycle, as few as will do, where every switch passes on all it gets.

use crate::dbb::stages::Stages;
use anabranch_plan::{FlowLink, MaxFlow};
use anabranch_split::PlanError;
use anabranch_split::apportion::webster;

/// How far a link may be from a whole number of packets in a cycle that counts as exact.
const EXACT: f64 = 1e-3;
/// Share of the flow below which a link carries nothing: what a solver leaves where the optimum is zero.
const NOTHING: f64 = 1e-6;

/// How a flow becomes whole packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CycleUnits {
    /// Longest cycle, in packets.
    pub cycle_max: u32,
    /// Packets of a cycle over the link that carries most, where the exact cycle would be longer than `cycle_max`.
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
    /// The shortest cycle that divides every share into whole packets is taken. If it were longer than `cycle_max`,
    /// the flow is rounded to `levels`: each switch, from the source on, divides the packets that it gets by Webster's
    /// method, so that rounding neither loses nor adds any.
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
        let exact = (1..=self.cycle_max).find_map(|cycle| exact(links, &shares, &stages, cycle));
        let packets = exact.unwrap_or_else(|| {
            let most = shares.iter().copied().fold(0.0, f64::max);
            let cycle = (f64::from(self.levels) / most).round() as u32;
            divided(links, &shares, &stages, cycle.clamp(1, self.cycle_max.max(1)))
        });
        Ok(links.iter().zip(packets).map(|(&link, bandwidth)| FlowLink { bandwidth, ..link }).collect())
    }
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

/// Packets by link if the source sends `cycle` of them and each switch divides what it gets in proportion to `shares`.
fn divided(links: &[FlowLink], shares: &[f64], stages: &Stages, cycle: u32) -> Vec<u64> {
    let mut packets = vec![0u64; links.len()];
    for (stage, &switch) in
        stages.switches.iter().enumerate().flat_map(|(i, stage)| stage.iter().map(move |s| (i, s)))
    {
        let got = if stage == 0 {
            u64::from(cycle)
        } else {
            (0..links.len()).filter(|&link| links[link].to == switch).map(|link| packets[link]).sum()
        };
        if got == 0 {
            continue;
        }
        let mut out: Vec<usize> =
            (0..links.len()).filter(|&link| links[link].from == switch && shares[link] > 0.0).collect();
        out.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
        let sum: f64 = out.iter().map(|&link| shares[link]).sum();
        // What would not get half a packet gets none, where Webster's method gives one to all.
        let worth = out.partition_point(|&link| shares[link] * got as f64 >= 0.5 * sum);
        out.truncate(worth.clamp(1, got as usize));
        let weights: Vec<u64> =
            out.iter().map(|&link| (shares[link] / sum * f64::from(u32::MAX)) as u64).collect();
        for (&link, seats) in out.iter().zip(webster::webster(&weights, got as u32)) {
            packets[link] = seats.into();
        }
    }
    packets
}
