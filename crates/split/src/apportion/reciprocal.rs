//! Reciprocal weights for rendezvous: `1 / w` as mantissa and binary order, so that light and heavy members keep the
//! same relative precision in one 64-bit score.

use crate::PlanError;
use crate::picks::mix;
use crate::picks::rendezvous::Entry;
use std::format;
use std::vec;
use std::vec::Vec;

/// Number of bits of a mantissa, which lies in [2^26, 2^27): with a logarithm below 2^37 the product fits 64 bits.
const MANTISSA_BITS: i32 = 27;
/// Largest ratio of weights: the lightest share that a 32-bit hash can express.
const RATIO_MAX: u64 = 1 << 32;

/// Entries of the members with positive weight.
///
/// # Errors
/// Refuses a weight below 2^-32 of the heaviest.
pub fn reciprocals(weights: &[u64]) -> Result<Vec<Entry>, PlanError> {
    let living = || (0u16..).zip(weights).filter(|&(_, &w)| w > 0);
    let lightest = living().map(|(_, &w)| w).min().unwrap_or(1);
    let heaviest = living().map(|(_, &w)| w).max().unwrap_or(1);
    if heaviest / lightest > RATIO_MAX {
        return Err(PlanError::new(
            format!("weights: the heaviest ({heaviest}) is more than 2^32 times the lightest ({lightest})"),
            "a 32-bit hash cannot express that share: leave the lightest path out",
        ));
    }
    // Reciprocals relative to the lightest member's: at most 1, at least 2^-32.
    let relative = |w: u64| lightest as f64 / w as f64;
    let (_, highest_order) = libm::frexp(1.0);
    Ok(living()
        .map(|(member, &w)| {
            let (fraction, order) = libm::frexp(relative(w));
            let mantissa = libm::round(libm::ldexp(fraction, MANTISSA_BITS)) as u32;
            // A fraction that rounds up to 1 would need one bit more.
            let full = 1 << MANTISSA_BITS;
            let reciprocal = if mantissa == full { full - 1 } else { mantissa };
            Entry {
                salt: mix::salt(member),
                reciprocal,
                shift: (highest_order - order) as u32,
                approximate: relative(w) as f32,
                member,
            }
        })
        .collect())
}

/// Share of each of `members`, `w_i / W` by the race of exponentials, from the reciprocals as they are rounded.
#[must_use]
pub fn shares(entries: &[Entry], members: usize) -> Vec<f64> {
    let rate = |entry: &Entry| libm::ldexp(1.0 / f64::from(entry.reciprocal), entry.shift as i32);
    let sum = entries.iter().map(rate).sum::<f64>();
    let mut shares = vec![0.0; members];
    for entry in entries {
        shares[usize::from(entry.member)] = rate(entry) / sum;
    }
    shares
}
