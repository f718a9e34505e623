//! Score-based picks of eight flows at once, on x86-64 with AVX2 and FMA. Each lane is a flow; members are scored in
//! turn.

use super::rendezvous_bound::{BUMP, ERROR, FAITHFUL, settle};
use super::{rendezvous, score, score16};
use core::arch::x86_64::*;

/// Number of flows side by side.
pub(super) const LANES: usize = 8;

/// Whether this processor has the instructions of this module.
pub(super) fn available() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}

/// Loads the selection hashes of eight flows.
#[inline]
#[target_feature(enable = "avx2")]
fn load(flows: &[u64; LANES]) -> __m256i {
    let first: *const __m256i = flows.as_ptr().cast();
    // SAFETY: the source is 64 readable bytes; the loads need no alignment.
    #[allow(unsafe_code)]
    let (low, high) = unsafe { (_mm256_loadu_si256(first), _mm256_loadu_si256(first.add(1))) };
    // The even 32-bit words of both, by halves of 128 bits, then put in order.
    let words = _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(words))
}

/// Stores eight members, each in a 32-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
fn store(members: __m256i) -> [u16; LANES] {
    let packed = _mm_packus_epi32(_mm256_castsi256_si128(members), _mm256_extracti128_si256::<1>(members));
    let mut array = [0; LANES];
    // SAFETY: the target is 16 writable bytes; the store needs no alignment.
    #[allow(unsafe_code)]
    unsafe {
        _mm_storeu_si128(array.as_mut_ptr().cast(), packed);
    }
    array
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn every(value: u32) -> __m256i {
    _mm256_set1_epi32(value as i32)
}

/// Finalises eight hashes; see [`super::mix::finalise`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn finalise(mut h: __m256i) -> __m256i {
    h = _mm256_xor_si256(h, _mm256_srli_epi32::<16>(h));
    h = _mm256_mullo_epi32(h, every(0x85eb_ca6b));
    h = _mm256_xor_si256(h, _mm256_srli_epi32::<13>(h));
    h = _mm256_mullo_epi32(h, every(0xc2b2_ae35));
    _mm256_xor_si256(h, _mm256_srli_epi32::<16>(h))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_left<const LEFT: i32, const RIGHT: i32>(x: __m256i) -> __m256i {
    const { assert!(LEFT + RIGHT == 32, "a rotation of 32 bits") }
    _mm256_or_si256(_mm256_slli_epi32::<LEFT>(x), _mm256_srli_epi32::<RIGHT>(x))
}

/// Picks by [`super::Score`]: the 64-bit scores of even and odd lanes are kept apart, as the multiplier yields them.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn score(plan: &[score::Entry], flows: &[u64; LANES]) -> [u16; LANES] {
    let hashes = load(flows);
    let (mut best_even, mut best_odd) = (_mm256_set1_epi64x(-1), _mm256_set1_epi64x(-1));
    let mut winner = _mm256_setzero_si256();
    for entry in plan {
        let value = finalise(_mm256_xor_si256(hashes, every(entry.salt)));
        let weight = _mm256_set1_epi64x(i64::from(entry.weight));
        let even = _mm256_mul_epu32(value, weight);
        let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(value), weight);
        let even_better = _mm256_cmpgt_epi64(even, best_even);
        let odd_better = _mm256_cmpgt_epi64(odd, best_odd);
        best_even = _mm256_blendv_epi8(best_even, even, even_better);
        best_odd = _mm256_blendv_epi8(best_odd, odd, odd_better);
        let better = _mm256_blend_epi32::<0b1010_1010>(even_better, odd_better);
        winner = _mm256_blendv_epi8(winner, every(u32::from(entry.member)), better);
    }
    store(winner)
}

/// Picks by [`super::Score16`]: the products stay below 2^32 and are compared with the sign bit flipped.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn score16(plan: &[score16::Bucket], flows: &[u64; LANES]) -> [u16; LANES] {
    // `mix::scramble` of the basis is the same for every bucket.
    let word = _mm256_mullo_epi32(load(flows), every(0xcc9e_2d51));
    let word = _mm256_mullo_epi32(rotate_left::<15, 17>(word), every(0x1b87_3593));
    let mut best = _mm256_setzero_si256();
    let mut winner = _mm256_setzero_si256();
    for bucket in plan {
        let mixed = rotate_left::<13, 19>(_mm256_xor_si256(word, every(bucket.salt)));
        let fivefold = _mm256_add_epi32(mixed, _mm256_slli_epi32::<2>(mixed));
        let mixed = _mm256_add_epi32(fivefold, every(0xe654_6b64));
        let value = finalise(_mm256_xor_si256(mixed, every(8)));
        let value = _mm256_and_si256(value, every(0xffff));
        let score = _mm256_mullo_epi32(value, every(u32::from(bucket.weight)));
        best = _mm256_max_epu32(best, score);
        // The later bucket wins a tie.
        let better = _mm256_cmpeq_epi32(best, score);
        winner = _mm256_blendv_epi8(winner, every(u32::from(bucket.member)), better);
    }
    store(winner)
}

/// Approximates `-log2((hash + 1/2) / 2^32)` within [`ERROR`], from the bits of its single-precision form: exponent and
/// mantissa read as one number are `log2` up to a smooth bump, which a polynomial removes.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn approximate_neg_log2(hash: __m256i) -> __m256 {
    // Halved, because AVX2 converts signed integers only; odd, because zero has no logarithm.
    let half = _mm256_or_si256(_mm256_srli_epi32::<1>(hash), every(1));
    let bits = _mm256_castps_si256(_mm256_cvtepi32_ps(half));
    let mantissa = _mm256_or_si256(_mm256_and_si256(bits, every(0x007f_ffff)), every(0x3f80_0000));
    let f = _mm256_sub_ps(_mm256_castsi256_ps(mantissa), _mm256_set1_ps(1.0));
    let mut ratio = _mm256_set1_ps(BUMP[3]);
    for coefficient in [BUMP[2], BUMP[1], BUMP[0]] {
        ratio = _mm256_fmadd_ps(ratio, f, _mm256_set1_ps(coefficient));
    }
    // 158 = 127 (the format's bias) + 31 (the scale of the halved hash); 2^23 to a binary order.
    let line = _mm256_cvtepi32_ps(_mm256_sub_epi32(every(158 << 23), bits));
    let line = _mm256_mul_ps(line, _mm256_set1_ps(1.0 / 8_388_608.0));
    _mm256_fmadd_ps(_mm256_fmsub_ps(f, f, f), ratio, line)
}

/// Picks by [`super::Rendezvous`]. Single precision knows each score within a bound: if the best score's upper bound is
/// below every other's lower bound, the winner is certainly that of the integer pick. The few other flows (about 1.2e-4
/// times the number of members) are picked one by one.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn rendezvous(plan: &[rendezvous::Entry], flows: &[u64; LANES]) -> [u16; LANES] {
    let hashes = load(flows);
    let far = _mm256_set1_ps(f32::INFINITY);
    // The winner's bounds, and the least lower bound among the others.
    let (mut upper, mut lower, mut other) = (far, far, far);
    let mut winner = _mm256_setzero_si256();
    let mut least = every(u32::MAX);
    for entry in plan {
        let value = finalise(_mm256_xor_si256(hashes, every(entry.salt)));
        least = _mm256_min_epu32(least, value);
        let log = approximate_neg_log2(value);
        let scale = _mm256_set1_ps(entry.approximate);
        let slack = _mm256_set1_ps(ERROR * entry.approximate);
        let this_upper = _mm256_fmadd_ps(log, scale, slack);
        let this_lower = _mm256_fmsub_ps(log, scale, slack);
        let better = _mm256_cmp_ps::<_CMP_LT_OQ>(this_upper, upper);
        other = _mm256_min_ps(other, _mm256_blendv_ps(this_lower, lower, better));
        lower = _mm256_blendv_ps(lower, this_lower, better);
        upper = _mm256_min_ps(this_upper, upper);
        let member = every(u32::from(entry.member));
        winner = _mm256_blendv_epi8(winner, member, _mm256_castps_si256(better));
    }
    let decided = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(upper, other));
    let faithful = _mm256_cmpeq_epi32(_mm256_max_epu32(least, every(FAITHFUL)), least);
    let certain = _mm256_and_si256(decided, faithful);
    let mut picks = store(winner);
    let certain = _mm256_movemask_ps(_mm256_castsi256_ps(certain));
    if certain != 0xff {
        settle(plan, flows, |lane| (certain >> lane) & 1 == 1, &mut picks);
    }
    picks
}

#[cfg(test)]
#[target_feature(enable = "avx2,fma")]
pub(super) fn approximate(flows: &[u64; LANES]) -> [f32; LANES] {
    let mut array = [0.0; LANES];
    // SAFETY: the target is 32 writable bytes; the store needs no alignment.
    #[allow(unsafe_code)]
    unsafe {
        _mm256_storeu_ps(array.as_mut_ptr(), approximate_neg_log2(load(flows)));
    }
    array
}
