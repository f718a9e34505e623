//! Quotas in fixed point: each member's share of one, and its inverse.

use core::cmp::Reverse;
use std::vec::Vec;

/// Quota of one, in units of 2^-32.
pub const ONE: u64 = 1 << 32;

/// Shares in units of 2^-32 that sum to exactly [`ONE`], by largest remainders (Hamilton), ties to the lowest index.
/// A positive weight gets at least one unit, taken from the largest share. The sum of `weights`, at most 1024 of them,
/// is from 1 to 2^53.
#[must_use]
pub fn shares(weights: &[u64]) -> Vec<u64> {
    let sum = weights.iter().map(|&w| u128::from(w)).sum::<u128>();
    let scaled = |w: u64| u128::from(w) * u128::from(ONE);
    let mut shares =
        weights.iter().map(|&w| ((scaled(w) / sum) as u64).max(u64::from(w > 0))).collect::<Vec<_>>();
    let given = shares.iter().sum::<u64>();
    if given > ONE {
        if let Some(largest) = shares.iter_mut().max() {
            *largest -= given - ONE;
        }
        return shares;
    }
    let mut order = (0..weights.len()).collect::<Vec<_>>();
    order.sort_by_key(|&i| Reverse(scaled(weights[i]) % sum));
    for &i in order.iter().take((ONE - given) as usize) {
        shares[i] += 1;
    }
    shares
}

/// Number of flows from one turn of a member to its next, `W / w_i`, in units of 2^-32; `u64::MAX` for no weight.
/// Rounded up: a turn that is due exactly with a flow must not come one flow early.
#[must_use]
pub fn periods(weights: &[u64]) -> Vec<u64> {
    let sum = weights.iter().map(|&w| u128::from(w)).sum::<u128>();
    weights
        .iter()
        .map(|&w| match w {
            0 => u64::MAX,
            _ => u64::try_from((sum << 32).div_ceil(u128::from(w))).unwrap_or(u64::MAX).min(u64::MAX - 1),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_of_known_weights() {
        assert_eq!(shares(&[1, 0, 1]), [ONE / 2, 0, ONE / 2]);
        assert_eq!(shares(&[1, 1, 1]), [1_431_655_766, 1_431_655_765, 1_431_655_765]);
        assert_eq!(shares(&[1, 1 << 52]), [1, ONE - 1]);
        assert_eq!(periods(&[1, 0, 2]), [3 * ONE, u64::MAX, 3 * ONE / 2]);
        assert_eq!(periods(&[1, 1 << 52])[0], u64::MAX - 1);
    }

    proptest! {
        #[test]
        fn shares_sum_to_one_and_are_within_a_unit(weights in prop::collection::vec(0u64..1 << 40, 1..64)) {
            prop_assume!(weights.iter().any(|&w| w > 0));
            let sum = weights.iter().sum::<u64>() as f64;
            let shares = shares(&weights);
            prop_assert_eq!(shares.iter().sum::<u64>(), ONE);
            for (&share, &w) in shares.iter().zip(&weights) {
                prop_assert_eq!(share == 0, w == 0);
                prop_assert!((share as f64 - w as f64 / sum * ONE as f64).abs() < 64.0);
            }
        }
    }
}
