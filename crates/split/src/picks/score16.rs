//! Scoring exactly as Open vSwitch's `selection_method=hash` does it, 16 bits and all.
//!
//! `group_best_live_bucket` (ofproto-dpif-xlate.c, 3.1): `(hash_int(bucket_id, basis) & 0xffff) * weight`, compared
//! by `>=` from zero, so the *last* of equal scores wins; a bucket of weight zero is never live.

use super::{Packet, Pick, mix};
use crate::Env;
use core::hint::select_unpredictable;

/// Live bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Salt of its id: [`mix::open_vswitch::salt`].
    pub salt: u32,
    /// OpenFlow weight, 1 to 65535.
    pub weight: u16,
    /// Number of the bucket in the group.
    pub member: u16,
}

/// Score of one bucket, with the flow's hash as basis.
#[inline(always)]
#[must_use]
pub fn score(basis: u32, bucket: &Bucket) -> u32 {
    (mix::open_vswitch::value(basis, bucket.salt) & 0xffff) * u32::from(bucket.weight)
}

/// Pick of Open vSwitch's scorer.
pub struct Score16;

impl Pick for Score16 {
    const NAME: &'static str = "score16";
    const NEEDS: u32 = 0;
    /// Live buckets only, in the order of the group.
    type Plan = [Bucket];
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &[Bucket], _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        let mut best = 0;
        let mut winner = 0;
        for bucket in plan {
            let score = score(packet.hash(), bucket);
            // No branch: which member leads is a coin toss that no predictor learns.
            winner = select_unpredictable(score >= best, bucket.member, winner);
            best = best.max(score);
        }
        winner
    }
}
