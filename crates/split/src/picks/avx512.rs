//! Score-based picks of sixteen flows at once, on x86-64 with AVX-512 F: [`super::avx2`] with masks from comparisons
//! and with rotation instructions.

use super::rendezvous_bound::{BUMP, ERROR, FAITHFUL, settle};
use super::{rendezvous, score, score16};
use core::arch::x86_64::*;

/// Number of flows side by side.
pub(super) const LANES: usize = 16;

/// Whether this processor has the instructions of this module.
pub(super) fn available() -> bool {
    std::is_x86_feature_detected!("avx512f")
}

/// Loads the selection hashes of sixteen flows.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(flows: &[u64; LANES]) -> __m512i {
    let first: *const __m512i = flows.as_ptr().cast();
    // SAFETY: the source is 128 readable bytes; the loads need no alignment.
    #[allow(unsafe_code)]
    let (low, high) = unsafe { (_mm512_loadu_si512(first), _mm512_loadu_si512(first.add(1))) };
    let low = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low));
    _mm512_inserti64x4::<1>(low, _mm512_cvtepi64_epi32(high))
}

/// Stores sixteen members, each in a 32-bit lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(members: __m512i) -> [u16; LANES] {
    let mut array = [0; LANES];
    // SAFETY: the target is 32 writable bytes; the store needs no alignment.
    #[allow(unsafe_code)]
    unsafe {
        _mm256_storeu_si256(array.as_mut_ptr().cast(), _mm512_cvtepi32_epi16(members));
    }
    array
}

#[inline]
#[target_feature(enable = "avx512f")]
fn every(value: u32) -> __m512i {
    _mm512_set1_epi32(value as i32)
}

/// Finalises sixteen hashes; see [`super::mix::finalise`].
#[inline]
#[target_feature(enable = "avx512f")]
fn finalise(mut h: __m512i) -> __m512i {
    h = _mm512_xor_si512(h, _mm512_srli_epi32::<16>(h));
    h = _mm512_mullo_epi32(h, every(0x85eb_ca6b));
    h = _mm512_xor_si512(h, _mm512_srli_epi32::<13>(h));
    h = _mm512_mullo_epi32(h, every(0xc2b2_ae35));
    _mm512_xor_si512(h, _mm512_srli_epi32::<16>(h))
}

/// Picks by [`super::Score`]: the 64-bit scores of even and odd lanes, and their winners, are kept apart.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn score(plan: &[score::Entry], flows: &[u64; LANES]) -> [u16; LANES] {
    let hashes = load(flows);
    let (mut best_even, mut best_odd) = (_mm512_set1_epi64(-1), _mm512_set1_epi64(-1));
    let (mut winner_even, mut winner_odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    for entry in plan {
        let value = finalise(_mm512_xor_si512(hashes, every(entry.salt)));
        let weight = _mm512_set1_epi64(i64::from(entry.weight));
        let even = _mm512_mul_epu32(value, weight);
        let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(value), weight);
        let member = every(u32::from(entry.member));
        let even_better = _mm512_cmpgt_epi64_mask(even, best_even);
        winner_even = _mm512_mask_mov_epi64(winner_even, even_better, member);
        best_even = _mm512_max_epi64(even, best_even);
        let odd_better = _mm512_cmpgt_epi64_mask(odd, best_odd);
        winner_odd = _mm512_mask_mov_epi64(winner_odd, odd_better, member);
        best_odd = _mm512_max_epi64(odd, best_odd);
    }
    // Each half holds its member twice per 64-bit lane.
    store(_mm512_mask_mov_epi32(winner_even, 0b1010_1010_1010_1010, winner_odd))
}

/// Picks by [`super::Score16`].
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn score16(plan: &[score16::Bucket], flows: &[u64; LANES]) -> [u16; LANES] {
    // `mix::scramble` of the basis is the same for every bucket.
    let word = _mm512_mullo_epi32(load(flows), every(0xcc9e_2d51));
    let word = _mm512_mullo_epi32(_mm512_rol_epi32::<15>(word), every(0x1b87_3593));
    let mut best = _mm512_setzero_si512();
    let mut winner = _mm512_setzero_si512();
    for bucket in plan {
        let mixed = _mm512_rol_epi32::<13>(_mm512_xor_si512(word, every(bucket.salt)));
        let fivefold = _mm512_add_epi32(mixed, _mm512_slli_epi32::<2>(mixed));
        let mixed = _mm512_add_epi32(fivefold, every(0xe654_6b64));
        let value = _mm512_and_si512(finalise(_mm512_xor_si512(mixed, every(8))), every(0xffff));
        let score = _mm512_mullo_epi32(value, every(u32::from(bucket.weight)));
        // The later bucket wins a tie.
        let better = _mm512_cmpge_epu32_mask(score, best);
        winner = _mm512_mask_mov_epi32(winner, better, every(u32::from(bucket.member)));
        best = _mm512_max_epu32(best, score);
    }
    store(winner)
}

/// Approximates `-log2((hash + 1/2) / 2^32)` within [`ERROR`], as [`super::avx2`] does.
#[inline]
#[target_feature(enable = "avx512f")]
fn approximate_neg_log2(hash: __m512i) -> __m512 {
    let half = _mm512_or_si512(_mm512_srli_epi32::<1>(hash), every(1));
    let bits = _mm512_castps_si512(_mm512_cvtepi32_ps(half));
    let mantissa = _mm512_or_si512(_mm512_and_si512(bits, every(0x007f_ffff)), every(0x3f80_0000));
    let f = _mm512_sub_ps(_mm512_castsi512_ps(mantissa), _mm512_set1_ps(1.0));
    let mut ratio = _mm512_set1_ps(BUMP[3]);
    for coefficient in [BUMP[2], BUMP[1], BUMP[0]] {
        ratio = _mm512_fmadd_ps(ratio, f, _mm512_set1_ps(coefficient));
    }
    let line = _mm512_cvtepi32_ps(_mm512_sub_epi32(every(158 << 23), bits));
    let line = _mm512_mul_ps(line, _mm512_set1_ps(1.0 / 8_388_608.0));
    _mm512_fmadd_ps(_mm512_fmsub_ps(f, f, f), ratio, line)
}

/// Picks by [`super::Rendezvous`], with bounds in single precision as in [`super::avx2::rendezvous`].
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn rendezvous(plan: &[rendezvous::Entry], flows: &[u64; LANES]) -> [u16; LANES] {
    let hashes = load(flows);
    let far = _mm512_set1_ps(f32::INFINITY);
    let (mut upper, mut lower, mut other) = (far, far, far);
    let mut winner = _mm512_setzero_si512();
    let mut least = every(u32::MAX);
    for entry in plan {
        let value = finalise(_mm512_xor_si512(hashes, every(entry.salt)));
        least = _mm512_min_epu32(least, value);
        let log = approximate_neg_log2(value);
        let scale = _mm512_set1_ps(entry.approximate);
        let slack = _mm512_set1_ps(ERROR * entry.approximate);
        let this_upper = _mm512_fmadd_ps(log, scale, slack);
        let this_lower = _mm512_fmsub_ps(log, scale, slack);
        let better = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(this_upper, upper);
        other = _mm512_min_ps(other, _mm512_mask_mov_ps(this_lower, better, lower));
        lower = _mm512_mask_mov_ps(lower, better, this_lower);
        upper = _mm512_min_ps(this_upper, upper);
        winner = _mm512_mask_mov_epi32(winner, better, every(u32::from(entry.member)));
    }
    let decided = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(upper, other);
    let certain = decided & _mm512_cmpge_epu32_mask(least, every(FAITHFUL));
    let mut picks = store(winner);
    if certain != u16::MAX {
        settle(plan, flows, |lane| (certain >> lane) & 1 == 1, &mut picks);
    }
    picks
}

#[cfg(test)]
#[target_feature(enable = "avx512f")]
pub(super) fn approximate(flows: &[u64; LANES]) -> [f32; LANES] {
    let mut array = [0.0; LANES];
    // SAFETY: the target is 64 writable bytes; the store needs no alignment.
    #[allow(unsafe_code)]
    unsafe {
        _mm512_storeu_ps(array.as_mut_ptr(), approximate_neg_log2(load(flows)));
    }
    array
}
