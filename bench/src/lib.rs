//! Inputs and clock that the benchmarks share.

use anabranch_split::{Members, PlanError, Weights};
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Processor time of this thread; a simulation runs in the thread that asks for it.
#[must_use]
pub fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Number of flow keys, 2 MiB: more than branch predictors can memorise, and no more than a second-level cache.
pub const FLOWS: usize = 1 << 18;

/// Makes `count` distinct pseudo-random flow keys (SplitMix64).
#[must_use]
pub fn flow_keys(count: usize) -> Vec<u64> {
    (1..=count as u64)
        .map(|i| {
            let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        })
        .collect()
}

/// A group of `n` paths with weights from 1 to 100.
///
/// # Errors
/// Refuses more paths than a group has.
pub fn group(n: usize) -> Result<Members, PlanError> {
    let weights = flow_keys(n).into_iter().map(|key| key % 100 + 1).collect();
    Ok(Members::all_up(Weights::new(weights)?))
}
