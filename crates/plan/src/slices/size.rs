//! The size of slices: Algorithm 1, and what is done where its divisor is none.
//!
//! Algorithm 1 reads `max(GCD(c), s_lim)`, where `s_lim` is the "minimum supported slice size due to switch constraints
//! (e.g., rate limiter accuracy, TCAM size)", and adds up what that wastes without using it. Its divisor is meant for
//! rates of links. Of *measured* bandwidths it is the divisor of their noise: 601, 199 and 200 have 1. Then the two
//! quantities of the paper are weighed against each other, the wasted bandwidth and what rate limiters of that size cost.

use super::meter::overflow_bps;
use super::{Residual, SlicePick, SliceRule};
use crate::gcd;
use anabranch_split::PlanError;
use std::cmp::Reverse;

impl SliceRule {
    /// The size that fits all of `pairs`, each of which must be able to label its slices.
    pub(super) fn slice_bps(&self, pairs: &[&[Residual]]) -> Result<u64, PlanError> {
        let least = self.slice_min_bps.max(1);
        if self.slice_max_bps.is_some_and(|most| most < least) {
            return Err(PlanError::new(
                format!("slice_max: it is below slice_min = {least} bit/s"),
                "raise slice_max or lower slice_min",
            ));
        }
        let measured = pairs.iter().copied().flatten().any(|path| path.measured && path.bps > 0);
        if !(measured && self.pick == SlicePick::LeastLoss)
            && let Some(divisor) = self.divisor(pairs)
        {
            return Ok(divisor);
        }
        let best = match self.pick {
            SlicePick::Literal => None,
            SlicePick::MinWaste => {
                self.sizes(pairs).min_by_key(|&slice| (waste(pairs, slice), Reverse(slice)))
            }
            SlicePick::LeastLoss => {
                self.sizes(pairs).min_by_key(|&slice| (self.loss(pairs, slice), Reverse(slice)))
            }
        };
        Ok(best.unwrap_or_else(|| self.least_that_fits(pairs)))
    }

    /// The common divisor of all bandwidths, divided further until it is no larger than `slice_max_bps`, or as often as
    /// labels and the least slice allow. Nothing if it is itself not allowed.
    fn divisor(&self, pairs: &[&[Residual]]) -> Option<u64> {
        let divisor = pairs.iter().copied().flatten().map(|path| path.bps).fold(0, gcd);
        let most = self.slice_max_bps.unwrap_or(divisor);
        let least = self.slice_min_bps.max(1);
        // The largest first.
        let divisors = (1..=(divisor / least).min(self.labels()))
            .filter(|parts| divisor.is_multiple_of(*parts))
            .map(|parts| divisor / parts);
        let mut smallest = None;
        for slice in divisors.take_while(|&slice| slice >= least && self.fits(pairs, slice)) {
            smallest = Some(slice);
            if slice <= most {
                break;
            }
        }
        smallest
    }

    /// Labels that name slices.
    fn labels(&self) -> u64 {
        (1 << self.label_bits.clamp(1, 16)) - 1
    }

    /// Whether every pair can label its slices of this size.
    fn fits(&self, pairs: &[&[Residual]], slice: u64) -> bool {
        pairs.iter().all(|pair| pair.iter().map(|path| path.bps / slice).sum::<u64>() <= self.labels())
    }

    /// The least size from the least slice on that has labels: the fewer slices, the larger they are.
    fn least_that_fits(&self, pairs: &[&[Residual]]) -> u64 {
        let total = pairs.iter().map(|pair| pair.iter().map(|path| path.bps).sum::<u64>()).max().unwrap_or(0);
        let mut below = self.slice_min_bps.max(1);
        let mut fitting = below.max(total.div_ceil(self.labels()));
        while below < fitting {
            let middle = below.midpoint(fitting);
            if self.fits(pairs, middle) {
                fitting = middle;
            } else {
                below = middle + 1;
            }
        }
        fitting
    }

    /// Sizes of which one wastes least, and one loses least: those that divide some path, and the largest allowed.
    /// Between two of them the number of slices does not change, and every path wastes more the smaller they are.
    fn sizes(&self, pairs: &[&[Residual]]) -> impl Iterator<Item = u64> {
        let least = self.slice_min_bps.max(1);
        let most = self.slice_max_bps.unwrap_or(u64::MAX);
        let divides = move |path: Residual| {
            (1..=(path.bps / least).min(self.labels())).map(move |parts| path.bps / parts)
        };
        let divided = pairs.iter().copied().flatten().copied().flat_map(divides);
        divided
            .chain(self.slice_max_bps)
            .filter(move |&slice| (least..=most).contains(&slice) && self.fits(pairs, slice))
    }

    /// Bandwidth that slices of this size lose: what they do not cover, and what their meters drop.
    fn loss(&self, pairs: &[&[Residual]], slice: u64) -> u64 {
        let slices: u64 = pairs.iter().copied().flatten().map(|path| path.bps / slice).sum();
        waste(pairs, slice) + slices * overflow_bps(slice, self.depth_bytes(slice), self.frame_bytes)
    }
}

/// Bandwidth that slices of this size do not cover.
fn waste(pairs: &[&[Residual]], slice: u64) -> u64 {
    pairs.iter().copied().flatten().map(|path| path.bps % slice).sum()
}
