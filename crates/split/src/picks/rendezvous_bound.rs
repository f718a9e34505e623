//! Bounds of logarithms in single precision, which the SIMD twins of rendezvous trust, and the pick where they leave doubt.

#[cfg(target_arch = "x86_64")]
use super::{Rendezvous, rendezvous};
#[cfg(target_arch = "x86_64")]
use crate::{Packet, Pick, Still};

/// Bound of the error of the approximate `-log2 U` for hashes of [`FAITHFUL`] and more: fit 1.6e-5, dropped low bit
/// 8e-6, single-precision rounding below 1e-5, the integer table's own 5e-8.
pub(super) const ERROR: f32 = 4e-5;

/// Least hash for which the bit that the conversion drops is negligible.
pub(super) const FAITHFUL: u32 = 1 << 18;

/// Polynomial for `(log2(1 + f) - f) / (f (1 - f))` on [0, 1], fitted so that the product is off by at most 1.55e-5.
pub(super) const BUMP: [f32; 4] = [0.441_916_05, -0.267_173_38, 0.148_416_14, -0.045_143_68];

/// Repeats the lanes that are not `certain` with the integer pick.
#[cold]
#[cfg(target_arch = "x86_64")]
pub(super) fn settle<const L: usize>(
    plan: &[rendezvous::Entry],
    flows: &[u64; L],
    certain: impl Fn(usize) -> bool,
    picks: &mut [u16; L],
) {
    for lane in (0..L).filter(|&lane| !certain(lane)) {
        let mut packet = Packet { flow: flows[lane], bytes: 1, ..Packet::default() };
        picks[lane] = Rendezvous::pick(plan, &mut (), &mut packet, &mut Still);
    }
}

#[cfg(test)]
mod tests {
    use super::super::rendezvous::neg_log2;
    use super::super::{avx2, avx512};
    use super::*;
    use std::vec::Vec;

    fn largest_error<const L: usize>(flows: &[u64], approximate: impl Fn(&[u64; L]) -> [f32; L]) -> f64 {
        let error = |(&flow, log): (&u64, f32)| {
            (f64::from(log) - neg_log2(flow as u32) as f64 / 2_147_483_648.0).abs()
        };
        let block = |block: &[u64; L]| block.iter().zip(approximate(block)).map(error).fold(0.0, f64::max);
        flows.as_chunks::<L>().0.iter().map(block).fold(0.0, f64::max)
    }

    #[test]
    fn the_bound_holds() {
        // Every 256th hash from the first faithful one, and the ends of every binade. Miri takes few.
        let step = if cfg!(miri) { 1 << 23 } else { 256 };
        let ends = (18..32).flat_map(|k| [1u32 << k, (1 << k) + 1, u32::MAX >> (31 - k), 3 << (k - 1)]);
        let mut flows = (FAITHFUL..=u32::MAX).step_by(step).chain(ends).map(u64::from).collect::<Vec<_>>();
        flows.resize(flows.len().next_multiple_of(avx512::LANES), u64::from(u32::MAX));
        let mut errors = Vec::new();
        if avx2::available() {
            // SAFETY: the features were found on this machine.
            #[allow(unsafe_code)]
            errors.push(largest_error(&flows, |block| unsafe { avx2::approximate(block) }));
        }
        if avx512::available() {
            // SAFETY: the features were found on this machine.
            #[allow(unsafe_code)]
            errors.push(largest_error(&flows, |block| unsafe { avx512::approximate(block) }));
        }
        assert!(errors.iter().all(|&error| error < 0.8 * f64::from(ERROR)), "off by {errors:?}");
    }
}
