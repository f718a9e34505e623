//! Score-based picks of one flow on x86-64 with AVX2 and FMA: each lane is a member, eight at a time. The same picks as
//! those of [`super::avx2`], whose lanes are flows.

use super::avx2::{approximate_neg_log2, every, finalise};
use super::rendezvous_bound::{ERROR, FAITHFUL};
use super::{Rendezvous, rendezvous, score};
use crate::{Packet, Pick, Still};
use core::arch::x86_64::*;

/// Members side by side.
const LANES: usize = 8;

/// Words of an entry of each plan.
const SCORE: usize = size_of::<score::Entry>() / size_of::<u32>();
const RENDEZVOUS: usize = size_of::<rendezvous::Entry>() / size_of::<u32>();

/// Words of eight entries, entry by entry; zeros behind the last of fewer.
#[inline]
#[target_feature(enable = "avx2")]
fn load<T, const WORDS: usize>(entries: &[T]) -> [__m256i; WORDS] {
    const { assert!(size_of::<T>() == WORDS * size_of::<u32>(), "entries are words") }
    let first: *const i32 = entries.as_ptr().cast();
    let words = (entries.len() * WORDS) as i32;
    let mut vectors = [_mm256_setzero_si256(); WORDS];
    for (number, vector) in (0..).zip(&mut vectors) {
        let before = number * LANES as i32;
        // SAFETY: only words of the entries are read; the loads need no alignment.
        #[allow(unsafe_code)]
        unsafe {
            *vector = if before + LANES as i32 <= words {
                _mm256_loadu_si256(first.wrapping_add(before as usize).cast())
            } else {
                let there = _mm256_cmpgt_epi32(every((words - before) as u32), numbers());
                _mm256_maskload_epi32(first.wrapping_add(before as usize), there)
            };
        }
    }
    vectors
}

/// The lanes' numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers() -> __m256i {
    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
}

/// Where the word `FIELD` of each of eight entries stands: by vector and lane its place there, or -1 for another vector's.
const fn places<const WORDS: usize, const FIELD: usize>() -> [[i32; LANES]; WORDS] {
    let mut places = [[-1; LANES]; WORDS];
    let mut lane = 0;
    while lane < LANES {
        let word = lane * WORDS + FIELD;
        places[word / LANES][lane] = (word % LANES) as i32;
        lane += 1;
    }
    places
}

/// The word `FIELD` of eight entries.
#[inline]
#[target_feature(enable = "avx2")]
fn field<const WORDS: usize, const FIELD: usize>(vectors: &[__m256i; WORDS]) -> __m256i {
    let places = const { places::<WORDS, FIELD>() };
    let mut gathered = _mm256_setzero_si256();
    for (vector, [a, b, c, d, e, f, g, h]) in vectors.iter().zip(places) {
        let place = _mm256_setr_epi32(a, b, c, d, e, f, g, h);
        let here = _mm256_cmpgt_epi32(place, every(u32::MAX));
        gathered = _mm256_blendv_epi8(gathered, _mm256_permutevar8x32_epi32(*vector, place), here);
    }
    gathered
}

#[inline]
#[target_feature(enable = "avx2")]
fn greater(one: __m256i, other: __m256i) -> __m256i {
    _mm256_blendv_epi8(other, one, _mm256_cmpgt_epi64(one, other))
}

/// Number of the entry whose lane is in `mask`, the least of several; `numbers` are those of the lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn first_of(mask: __m256i, numbers: __m256i, entries: usize) -> usize {
    let lanes = _mm256_movemask_ps(_mm256_castsi256_ps(mask));
    if entries <= LANES {
        return lanes.trailing_zeros() as usize;
    }
    let least = _mm256_blendv_epi8(every(u32::MAX), numbers, mask);
    let least = _mm_min_epu32(_mm256_castsi256_si128(least), _mm256_extracti128_si256::<1>(least));
    let least = _mm_min_epu32(least, _mm_shuffle_epi32::<0b01_00_11_10>(least));
    let least = _mm_min_epu32(least, _mm_shuffle_epi32::<0b10_11_00_01>(least));
    _mm_cvtsi128_si32(least) as usize
}

/// Picks by [`super::Score`]: the first of equal scores wins. Lanes behind the last member score zero and come last.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn score(plan: &[score::Entry], flow: u64) -> u16 {
    let hash = every(flow as u32);
    let (mut best_even, mut best_odd) = (_mm256_set1_epi64x(-1), _mm256_set1_epi64x(-1));
    let (mut number, mut winner) = (numbers(), numbers());
    for entries in plan.chunks(LANES) {
        let words = load::<_, SCORE>(entries);
        let value = finalise(_mm256_xor_si256(hash, field::<SCORE, 0>(&words)));
        let weight = field::<SCORE, 1>(&words);
        let even = _mm256_mul_epu32(value, weight);
        let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(value), _mm256_srli_epi64::<32>(weight));
        let even_better = _mm256_cmpgt_epi64(even, best_even);
        let odd_better = _mm256_cmpgt_epi64(odd, best_odd);
        best_even = _mm256_blendv_epi8(best_even, even, even_better);
        best_odd = _mm256_blendv_epi8(best_odd, odd, odd_better);
        winner =
            _mm256_blendv_epi8(winner, number, _mm256_blend_epi32::<0b1010_1010>(even_better, odd_better));
        number = _mm256_add_epi32(number, every(LANES as u32));
    }
    let best = greater(best_even, best_odd);
    let best = greater(best, _mm256_permute4x64_epi64::<0b01_00_11_10>(best));
    let best = greater(best, _mm256_shuffle_epi32::<0b01_00_11_10>(best));
    let even = _mm256_cmpeq_epi64(best_even, best);
    let odd = _mm256_cmpeq_epi64(best_odd, best);
    let wins = _mm256_blend_epi32::<0b1010_1010>(even, odd);
    plan[first_of(wins, winner, plan.len())].member
}

/// Least of eight numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn least(all: __m256) -> f32 {
    let four = _mm_min_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps::<1>(all));
    let two = _mm_min_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_min_ss(two, _mm_shuffle_ps::<1>(two, two)))
}

/// Picks by [`super::Rendezvous`]: if the best score's upper bound is below every other's lower bound, the winner is
/// certainly that of the integer pick, which decides otherwise.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn rendezvous(plan: &[rendezvous::Entry], flow: u64) -> u16 {
    let hash = every(flow as u32);
    let far = _mm256_set1_ps(f32::INFINITY);
    // The bounds of each lane's winner, and the least lower bound among the lane's others.
    let (mut upper, mut lower, mut other) = (far, far, far);
    let (mut number, mut winner) = (numbers(), numbers());
    let (mut faint, last) = (_mm256_setzero_si256(), every(plan.len() as u32));
    for entries in plan.chunks(LANES) {
        let words = load::<_, RENDEZVOUS>(entries);
        let there = _mm256_cmpgt_epi32(last, number);
        let value = finalise(_mm256_xor_si256(hash, field::<RENDEZVOUS, 0>(&words)));
        let faithful = _mm256_cmpeq_epi32(_mm256_max_epu32(value, every(FAITHFUL)), value);
        faint = _mm256_or_si256(faint, _mm256_andnot_si256(faithful, there));
        let scale = _mm256_castsi256_ps(field::<RENDEZVOUS, 3>(&words));
        let slack = _mm256_mul_ps(scale, _mm256_set1_ps(ERROR));
        let log = approximate_neg_log2(value);
        let there = _mm256_castsi256_ps(there);
        let this_upper = _mm256_blendv_ps(far, _mm256_fmadd_ps(log, scale, slack), there);
        let this_lower = _mm256_blendv_ps(far, _mm256_fmsub_ps(log, scale, slack), there);
        let better = _mm256_cmp_ps::<_CMP_LT_OQ>(this_upper, upper);
        other = _mm256_min_ps(other, _mm256_blendv_ps(this_lower, lower, better));
        lower = _mm256_blendv_ps(lower, this_lower, better);
        upper = _mm256_min_ps(this_upper, upper);
        winner = _mm256_blendv_epi8(winner, number, _mm256_castps_si256(better));
        number = _mm256_add_epi32(number, every(LANES as u32));
    }
    let best = least(upper);
    let wins = _mm256_cmp_ps::<_CMP_EQ_OQ>(upper, _mm256_set1_ps(best));
    // Two lanes of the same upper bound are decided by neither: each one's lower bound is below it.
    let others = least(_mm256_min_ps(other, _mm256_blendv_ps(lower, far, wins)));
    let alone = _mm256_movemask_ps(wins).count_ones() == 1;
    if alone && best < others && _mm256_testz_si256(faint, faint) != 0 {
        return plan[first_of(_mm256_castps_si256(wins), winner, plan.len())].member;
    }
    Rendezvous::pick(plan, &mut (), &mut Packet { flow, ..Packet::default() }, &mut Still)
}
