//! Errors of the shares, connections that move, and times, over sets of weights.

use crate::contender::Contender;
use anabranch_bench::{flow_keys, processor_time};
use anabranch_split::PlanError;
use std::hint::black_box;

/// Members of each set, with weights from 1 to 100.
pub(crate) const MEMBERS: usize = 20;
const PICKS: usize = 1 << 18;
const ROUNDS: usize = 15;

/// Values by their mean and the greatest.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spread {
    sum: f64,
    count: usize,
    pub(crate) worst: f64,
}

impl Spread {
    fn take(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        self.worst = self.worst.max(value);
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// Results of one contender.
pub(crate) struct Outcome {
    pub(crate) name: String,
    /// Error of a member's share, in percent of it.
    pub(crate) error: Spread,
    /// Hashes that move when one member leaves, as a multiple of its share.
    pub(crate) removal: Spread,
    /// Hashes that move when the weight of one member grows by a tenth, as a multiple of the least, which is the total
    /// variation of the shares that are asked for.
    pub(crate) growth: Spread,
    /// Processor time of a change and of a pick, in nanoseconds: the least of some rounds.
    pub(crate) update_ns: Option<f64>,
    pub(crate) pick_ns: f64,
}

/// Weights of a set.
pub(crate) fn weights(set: u64) -> Vec<u64> {
    let keys = flow_keys(MEMBERS * (set as usize + 1));
    keys[MEMBERS * set as usize..].iter().map(|key| key % 100 + 1).collect()
}

/// Measures a contender over the sets below `sets`.
///
/// # Errors
/// Weights beyond the contender's limits.
pub(crate) fn measured(contender: &Contender, sets: u64) -> Result<Outcome, PlanError> {
    let (mut error, mut removal, mut growth) = Default::default();
    for set in 0..sets {
        compare(contender, set, &mut error, &mut removal, &mut growth)?;
    }
    let (update_ns, pick_ns) = times(contender)?;
    Ok(Outcome { name: contender.name(), error, removal, growth, update_ns, pick_ns })
}

fn compare(
    contender: &Contender,
    set: u64,
    error: &mut Spread,
    removal: &mut Spread,
    growth: &mut Spread,
) -> Result<(), PlanError> {
    let weights = weights(set);
    let standing = contender.standing(&weights, set)?;
    let before = standing.lookup();
    for (share, asked) in before.shares(MEMBERS).iter().zip(asked(&weights)) {
        error.take(100.0 * (share - asked).abs() / asked);
    }
    for member in 0..MEMBERS {
        let mut without = weights.clone();
        without[member] = 0;
        let mut with_more = weights.clone();
        with_more[member] = grown(weights[member]);
        for (changed, spread) in [(without, &mut *removal), (with_more, &mut *growth)] {
            let mut after = standing.copy();
            after.update(&changed)?;
            spread.take(before.moved(&after.lookup()) / variation(&weights, &changed));
        }
    }
    Ok(())
}

/// A weight and a tenth of it, at least one more: all programs here take whole numbers.
fn grown(weight: u64) -> u64 {
    weight + (weight + 5).div_euclid(10).max(1)
}

fn asked(weights: &[u64]) -> Vec<f64> {
    let sum = weights.iter().sum::<u64>() as f64;
    weights.iter().map(|&weight| weight as f64 / sum).collect()
}

/// Total variation of the shares of two lists of weights: no balancer can move less and meet both.
fn variation(before: &[u64], after: &[u64]) -> f64 {
    asked(before).iter().zip(asked(after)).map(|(before, after)| (after - before).max(0.0)).sum()
}

/// Processor time of an update, back and forth between two lists of weights, and of a pick in a batch.
fn times(contender: &Contender) -> Result<(Option<f64>, f64), PlanError> {
    let before = weights(0);
    let mut after = before.clone();
    after[7] = grown(before[7]);
    let mut standing = contender.standing(&before, 0)?;
    let keys = flow_keys(PICKS);
    let mut out = vec![0; PICKS];
    let (mut update, mut pick) = (f64::INFINITY, f64::INFINITY);
    for round in 0..2 * ROUNDS {
        let began = processor_time();
        standing.update(if round % 2 == 0 { &after } else { &before })?;
        let changed = processor_time();
        standing.pick(black_box(&keys), &mut out);
        black_box(&mut out);
        let picked = processor_time();
        update = update.min((changed - began).as_secs_f64() * 1e9);
        pick = pick.min((picked - changed).as_secs_f64() * 1e9 / PICKS as f64);
    }
    Ok((contender.update_is_timed().then_some(update), pick))
}
