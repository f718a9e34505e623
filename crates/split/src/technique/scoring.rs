//! Scoring: highest product of a per-path hash value and the weight (VALO section 2.2.2), with Open vSwitch's 16 bits
//! or with 32. Its shares are volumes of the score graph (VALO Eq. 6), not the weights: 44 % off on average at four
//! paths. The inner [`Narrow`] and [`Wide`] serve VALO gravity too, which is scoring by other weights.

use super::{Granularity, Parameters, Row, Stateless, Step, Technique};
use crate::apportion::gravity::{entry_shares, plain_entries, scoring_shares};
use crate::control::buckets;
use crate::picks::{lanes, mix, score, score16};
use crate::{Members, PlanError};
use std::format;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

pub(super) const NARROW: Row = Row {
    name: "scoring",
    granularity: Granularity::Stateless,
    summary: "highest hash x weight, 16 bits, as Open vSwitch's selection_method=hash; shares are not the weights",
    source: "VALO sec. 2.2.2; ofproto-dpif-xlate.c",
    build: |members, _: &mut Parameters| Ok(Technique::stateless(Scoring::<Narrow>::new(members)?)),
};

pub(super) const WIDE: Row = Row {
    name: "scoring-wide",
    granularity: Granularity::Stateless,
    summary: "highest hash x weight with 32-bit values; the same wrong shares without the 16-bit rounding",
    source: "VALO sec. 4.1",
    build: |members, _: &mut Parameters| Ok(Technique::stateless(Scoring::<Wide>::new(members)?)),
};

/// A way of scoring: plan, batch pick and exact shares for given factors.
pub(super) trait Scorer: Sized + Send + Sync {
    /// Plans by one factor per member, zero for those that must not be picked.
    ///
    /// # Errors
    /// Factors beyond this scorer's width.
    fn new(factors: &[u64]) -> Result<Self, PlanError>;
    /// The member of each flow.
    fn pick(&self, flows: &[u64], out: &mut [u16]);
    /// Share of each member.
    fn shares(&self) -> Vec<f64>;
    /// Bytes of the plan.
    fn bytes(&self) -> usize;
    /// Every member's value and score.
    fn explain(&self, hash: u32) -> Vec<Step>;
}

/// Plain weights as factors.
struct Scoring<S> {
    scorer: S,
}

impl<S: Scorer> Scoring<S> {
    fn new(members: &Members) -> Result<Self, PlanError> {
        Ok(Self { scorer: S::new(&members.effective())? })
    }
}

impl<S: Scorer + 'static> Stateless for Scoring<S> {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        Ok(Arc::new(Self::new(members)?))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        self.scorer.pick(flows, out);
    }

    fn shares(&self) -> Vec<f64> {
        self.scorer.shares()
    }

    fn state_bytes(&self) -> usize {
        self.scorer.bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        self.scorer.explain(flow as u32)
    }
}

/// Open vSwitch's scorer: 16-bit values, 16-bit weights, the last of equal scores wins.
pub(super) struct Narrow {
    buckets: Vec<score16::Bucket>,
    members: usize,
}

/// Up to this many buckets the 16-bit shares are summed over all values; beyond, the continuous formula stands in,
/// which leaves out the grid of 2^-16 in each share.
const SUMMED_BUCKETS: usize = 16;

impl Scorer for Narrow {
    fn new(factors: &[u64]) -> Result<Self, PlanError> {
        Ok(Self { buckets: buckets(factors, 0)?, members: factors.len() })
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        lanes::score16_batch(&self.buckets, flows, out);
    }

    fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.members];
        let weights = self.buckets.iter().map(|b| u64::from(b.weight)).collect::<Vec<_>>();
        let live =
            if weights.len() <= SUMMED_BUCKETS { summed_shares(&weights) } else { scoring_shares(&weights) };
        for (bucket, share) in self.buckets.iter().zip(live) {
            shares[usize::from(bucket.member)] = share;
        }
        shares
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.buckets[..])
    }

    fn explain(&self, hash: u32) -> Vec<Step> {
        let step = |bucket: &score16::Bucket| Step {
            what: format!("score of path {}", bucket.member + 1),
            value: format!(
                "{} = {} x {}",
                score16::score(hash, bucket),
                mix::open_vswitch::value(hash, bucket.salt) & 0xffff,
                bucket.weight
            ),
        };
        self.buckets.iter().map(step).collect()
    }
}

/// Shares of 16-bit scoring by summation over every value of every bucket, ties and all.
fn summed_shares(weights: &[u64]) -> Vec<f64> {
    const VALUES: u64 = 1 << 16;
    let share = |i: usize| {
        let wins = |value: u64| {
            let score = value * weights[i];
            let beaten = weights.iter().enumerate().map(|(j, &w)| match j.cmp(&i) {
                core::cmp::Ordering::Less => (score / w + 1).min(VALUES),
                core::cmp::Ordering::Equal => VALUES,
                core::cmp::Ordering::Greater => score.div_ceil(w).min(VALUES),
            });
            beaten.map(|count| count as f64 / VALUES as f64).product::<f64>()
        };
        (0..VALUES).map(wins).sum::<f64>() / VALUES as f64
    };
    (0..weights.len()).map(share).collect()
}

/// 32-bit values and 31-bit weights; the first of equal scores wins.
pub(super) struct Wide {
    entries: Vec<score::Entry>,
    members: usize,
}

impl Scorer for Wide {
    fn new(factors: &[u64]) -> Result<Self, PlanError> {
        Ok(Self { entries: plain_entries(factors), members: factors.len() })
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        lanes::score_batch(&self.entries, flows, out);
    }

    fn shares(&self) -> Vec<f64> {
        entry_shares(&self.entries, self.members)
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.entries[..])
    }

    fn explain(&self, hash: u32) -> Vec<Step> {
        let unit = f64::from(self.entries.iter().map(|entry| entry.weight).max().unwrap_or(1));
        let step = |entry: &score::Entry| Step {
            what: format!("score of path {}", entry.member + 1),
            value: format!(
                "{:.6} = {:.6} x {:.6}",
                score::score(hash, entry) as f64 / unit / 4_294_967_296.0,
                f64::from(mix::value(hash, entry.salt)) / 4_294_967_296.0,
                f64::from(entry.weight) / unit
            ),
        };
        self.entries.iter().map(step).collect()
    }
}
