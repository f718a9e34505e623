//! DBB's packet dispatching cycle: which next hop each switch takes for each packet in turn (Wu et al., "Deterministic
//! Bandwidth-Based Packet-Level Traffic Splitting for Datacenter Networks", sections III-B to III-E).

use crate::dbb::stages::Stages;
use anabranch_plan::{FlowLink, gcd};
use anabranch_split::PlanError;

/// Whom a switch may choose among.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum DispatchRule {
    /// Next hops over links that have packets left in the cycle. It meets Eq. 2 always, and the paper's tables are what it
    /// yields.
    #[default]
    Quota,
    /// All next hops, as Algorithm 1 is printed. It may send over a link more than Eq. 2 says.
    Literal,
}

/// A dispatching cycle between two switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Packets of the cycle: N of Eq. 1.
    pub cycle: u64,
    /// Part of each link in the simple integer ratio of its stage, rho_ij.
    pub ratios: Vec<u64>,
    /// Sum of the links' ratios of each stage but the last, rho^s.
    pub ratio_sums: Vec<u64>,
    /// Packets of the cycle that each link is to carry, N_ij of Eq. 2.
    pub quotas: Vec<u64>,
    /// Links of each packet of the cycle, one from each stage, as indices into the links given.
    pub rows: Vec<Vec<u32>>,
    links: Vec<FlowLink>,
}

impl Dispatch {
    /// Lays out the cycle for `links`, whose bandwidths are what each is to carry: a flow from `source` to `sink` in which
    /// every other switch sends what it receives.
    ///
    /// The next hop is the switch with the largest part of its quota left (Algorithm 1, line 10), of equals the lowest;
    /// of parallel links to it the one with the largest part of its own left.
    ///
    /// # Errors
    /// A flow that is no flow, one whose paths differ in length, or a cycle of more than `cycle_max` packets.
    pub fn new(
        links: &[FlowLink],
        source: u32,
        sink: u32,
        rule: DispatchRule,
        cycle_max: u32,
    ) -> Result<Self, PlanError> {
        let used: Vec<FlowLink> = links.iter().filter(|link| link.bandwidth > 0).copied().collect();
        let stages = Stages::of(&used, source, sink)?;
        let last = stages.switches.len() - 1;
        check_conserved(links, &stages)?;
        let stage_of = |link: &FlowLink| stages.of_switch(link.from).unwrap_or(last);
        let mut ratios = vec![0; links.len()];
        let mut ratio_sums = Vec::with_capacity(last);
        for stage in 0..last {
            let inside = |link: &&FlowLink| link.bandwidth > 0 && stage_of(link) == stage;
            let divisor = links.iter().filter(inside).fold(0, |divisor, link| gcd(divisor, link.bandwidth));
            let mut sum = 0;
            for (ratio, link) in ratios.iter_mut().zip(links).filter(|(_, link)| inside(link)) {
                *ratio = link.bandwidth / divisor;
                sum += *ratio;
            }
            ratio_sums.push(sum);
        }
        let cycle = ratio_sums.iter().try_fold(1u64, |cycle, &sum| {
            (cycle / gcd(cycle, sum)).checked_mul(sum).filter(|&cycle| cycle <= cycle_max.into())
        });
        let cycle = cycle.ok_or_else(|| {
            PlanError::new(
                format!(
                    "dbb: the cycle from switch {source} to switch {sink} has more than {cycle_max} packets"
                ),
                "round the bandwidths to fewer levels, or allow longer cycles",
            )
        })?;
        let quota = |(link, ratio): (&FlowLink, &u64)| match ratio_sums.get(stage_of(link)) {
            Some(&sum) if *ratio > 0 => ratio * (cycle / sum),
            _ => 0,
        };
        let quotas: Vec<u64> = links.iter().zip(&ratios).map(quota).collect();
        let mut dispatch =
            Self { cycle, ratios, ratio_sums, quotas, rows: Vec::new(), links: links.to_vec() };
        dispatch.lay_out(source, last, rule)?;
        Ok(dispatch)
    }

    /// Algorithm 1, lines 7 to 14.
    fn lay_out(&mut self, source: u32, stages: usize, rule: DispatchRule) -> Result<(), PlanError> {
        let quota: Vec<i64> = self.links.iter().map(|link| self.switch_quota(link.to) as i64).collect();
        let mut link_left: Vec<i64> = self.quotas.iter().map(|&quota| quota as i64).collect();
        // By link, what is left of the quota of the switch it leads to.
        let mut left = quota.clone();
        for _ in 0..self.cycle {
            let mut at = source;
            let mut row = Vec::with_capacity(stages);
            for _ in 0..stages {
                let open = |&link: &usize| {
                    self.links[link].from == at
                        && self.quotas[link] > 0
                        && (rule == DispatchRule::Literal || link_left[link] > 0)
                };
                // Fractions compared by cross-multiplication; of equals `max_by` would take the last.
                let chosen = (0..self.links.len()).filter(open).reduce(|best, link| {
                    let (to, best_to) = (self.links[link].to, self.links[best].to);
                    let by_switch = (left[link] * quota[best]).cmp(&(left[best] * quota[link]));
                    let by_link = (link_left[link] * self.quotas[best] as i64)
                        .cmp(&(link_left[best] * self.quotas[link] as i64));
                    let order = by_switch.then(best_to.cmp(&to)).then(by_link);
                    if order.is_gt() { link } else { best }
                });
                let chosen = chosen.ok_or_else(|| not_conserved(at))?;
                at = self.links[chosen].to;
                link_left[chosen] -= 1;
                for (left, _) in left.iter_mut().zip(&self.links).filter(|(_, link)| link.to == at) {
                    *left -= 1;
                }
                row.push(chosen as u32);
            }
            self.rows.push(row);
        }
        Ok(())
    }

    /// Packets of the cycle for a switch: Q of Eq. 3.
    #[must_use]
    pub fn switch_quota(&self, switch: u32) -> u64 {
        self.links
            .iter()
            .zip(&self.quotas)
            .filter(|(link, _)| link.to == switch)
            .map(|(_, quota)| quota)
            .sum()
    }

    /// Packets still to be dispatched to a switch before packet `sequence` of the cycle, counted from zero: R of
    /// Algorithm 1. Below zero where the literal rule overruns the quota.
    #[must_use]
    pub fn switch_left(&self, switch: u32, sequence: usize) -> i64 {
        let to = |link: &&u32| self.links[**link as usize].to == switch;
        let sent = self.rows.iter().take(sequence).flatten().filter(to).count();
        self.switch_quota(switch) as i64 - sent as i64
    }

    /// Links of the packets of the cycle that a switch sends, in their order.
    #[must_use]
    pub fn sent(&self, switch: u32) -> Vec<u32> {
        self.rows
            .iter()
            .flatten()
            .filter(|&&link| self.links[link as usize].from == switch)
            .copied()
            .collect()
    }

    /// Cycle of a switch over its own arrivals: links in turn, over and over, the list as short as it can be.
    /// Empty for a switch that no packet passes.
    #[must_use]
    pub fn turns(&self, switch: u32) -> Vec<u32> {
        let mut turns = self.sent(switch);
        let period = (1..=turns.len()).find(|&period| {
            turns.len().is_multiple_of(period) && turns[period..] == turns[..turns.len() - period]
        });
        turns.truncate(period.unwrap_or(0));
        turns
    }
}

fn check_conserved(links: &[FlowLink], stages: &Stages) -> Result<(), PlanError> {
    let between = stages.switches.iter().skip(1).rev().skip(1).flatten();
    for &switch in between {
        let sum = |end: fn(&FlowLink) -> u32| -> u128 {
            links.iter().filter(|link| end(link) == switch).map(|link| u128::from(link.bandwidth)).sum()
        };
        if sum(|link| link.to) != sum(|link| link.from) {
            return Err(not_conserved(switch));
        }
    }
    Ok(())
}

fn not_conserved(switch: u32) -> PlanError {
    PlanError::new(
        format!("dbb: switch {switch} is to send more or less than it receives"),
        "give bandwidths that are a flow",
    )
}
