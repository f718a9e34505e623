//! VALO gravity: the scoring weights whose score-graph volumes are the desired shares (VALO Eq. 16), and the shares
//! that follow from given weights.
//!
//! With weights in descending order and `A_k = (k - 1) w_k + w_k + ... + w_n`, the paper's Eq. 16 reads
//! `g_{k+1} / g_k = (A_{k+1} / A_k)^(1/k)`. The same numbers are the load-factor multipliers of CARP (Valloppillil
//! & Ross, 1998). The products `X_{n,m}` of Eq. 6 overflow double precision at 52 weights of 10^6 and are never
//! formed: everything runs on logarithms of ratios.

use crate::picks::{mix, score};
use std::vec;
use std::vec::Vec;

/// Largest factor of an entry.
pub const FACTOR_MAX: u32 = (1 << score::WEIGHT_BITS) - 1;

/// Gravity of each weight, 1 for the heaviest and zero for a weight of zero.
///
/// The relative error is below 1e-12 for 1024 weights from 1 to 10^9.
#[must_use]
pub fn gravity(weights: &[u64]) -> Vec<f64> {
    let order = descending(weights);
    let mut gravity = vec![0.0; weights.len()];
    // Sum of the weights from rank k on, in integers: exact.
    let mut tail = order.iter().map(|&i| u128::from(weights[i])).sum::<u128>();
    let mut log = 0.0;
    for (k, &i) in order.iter().enumerate() {
        gravity[i] = libm::exp(log);
        let Some(&next) = order.get(k + 1) else { break };
        let (here, below) = (u128::from(weights[i]), u128::from(weights[next]));
        // A at rank k + 1 in the paper's count from one, and how much less the next one is: k (w_k - w_{k+1}).
        let a = k as u128 * here + tail;
        let drop = (k as u128 + 1) * (here - below);
        log += log_of_remainder(drop as f64, (a - drop) as f64, a as f64) / (k as f64 + 1.0);
        tail -= here;
    }
    gravity
}

/// Share of each member when scores are `factor * U`, U uniform and independent: VALO Eq. 6, normalised.
///
/// With factors in descending order and `A_{m+1} = A_m (x_{m+1} / x_m)^m`, the share of rank i is the sum over
/// m >= i of `(A_m - A_{m+1}) / m`: terms of one sign, so nothing cancels.
#[must_use]
pub fn scoring_shares(factors: &[u64]) -> Vec<f64> {
    let order = descending(factors);
    let mut terms = Vec::with_capacity(order.len());
    let mut log_a = 0.0;
    for (k, &i) in order.iter().enumerate() {
        let m = k as f64 + 1.0;
        let a = libm::exp(log_a);
        terms.push(match order.get(k + 1) {
            Some(&next) => {
                let (here, below) = (factors[i] as f64, factors[next] as f64);
                let step = m * log_of_remainder((factors[i] - factors[next]) as f64, below, here);
                log_a += step;
                -a * libm::expm1(step) / m
            }
            None => a / m,
        });
    }
    let mut shares = vec![0.0; factors.len()];
    // Lightest first: the sum grows from its smallest terms.
    let mut share = 0.0;
    for (&i, term) in order.iter().zip(terms).rev() {
        share += term;
        shares[i] = share;
    }
    shares
}

/// Computes `ln(rest / whole)` with `drop = whole - rest` given exactly: from the quotient if it is small, with `log1p`
/// of the drop if it is near one and the quotient would lose digits.
fn log_of_remainder(drop: f64, rest: f64, whole: f64) -> f64 {
    if 2.0 * rest < whole { libm::log(rest / whole) } else { libm::log1p(-drop / whole) }
}

/// Positions of the positive values, largest first, equal ones in order of position.
fn descending(values: &[u64]) -> Vec<usize> {
    let mut order = (0..values.len()).filter(|&i| values[i] > 0).collect::<Vec<_>>();
    order.sort_by_key(|&i| core::cmp::Reverse(values[i]));
    order
}

/// Scales `values` so that the largest becomes `max`, and rounds them, positive ones to at least 1.
#[must_use]
pub fn quantise(values: &[f64], max: u32) -> Vec<u32> {
    let largest = values.iter().copied().fold(0.0, f64::max);
    values
        .iter()
        .map(|&v| if v > 0.0 { (libm::round(v / largest * f64::from(max)) as u32).max(1) } else { 0 })
        .collect()
}

/// Entries of [`crate::picks::Score`] by gravity, whose shares are the weights.
#[must_use]
pub fn entries(weights: &[u64]) -> Vec<score::Entry> {
    scored(quantise(&gravity(weights), FACTOR_MAX))
}

/// Entries whose factors are the weights themselves, as Open vSwitch scores; too large ones lose their last digits.
#[must_use]
pub fn plain_entries(weights: &[u64]) -> Vec<score::Entry> {
    let values = weights.iter().map(|&weight| weight as f64).collect::<Vec<_>>();
    let most = weights.iter().copied().max().unwrap_or(1).min(FACTOR_MAX.into());
    scored(quantise(&values, most as u32))
}

/// Share of each of `members` under exactly these entries.
#[must_use]
pub fn entry_shares(entries: &[score::Entry], members: usize) -> Vec<f64> {
    let mut factors = vec![0; members];
    for entry in entries {
        factors[usize::from(entry.member)] = entry.weight.into();
    }
    scoring_shares(&factors)
}

/// Entries of the members with a positive factor.
fn scored(factors: Vec<u32>) -> Vec<score::Entry> {
    (0u16..)
        .zip(factors)
        .filter(|&(_, weight)| weight > 0)
        .map(|(member, weight)| score::Entry { salt: mix::salt(member), weight, member })
        .collect()
}
