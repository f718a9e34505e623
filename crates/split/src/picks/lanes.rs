//! Batches of score-based picks. On x86-64 sixteen or eight flows are picked side by side, with the widest vectors of
//! the processor, and those that are left have their members side by side; elsewhere the single pick runs in a loop. All
//! give the same picks, bit for bit.

use super::{Rendezvous, Score, Score16, each, rendezvous, score, score16};
#[cfg(target_arch = "x86_64")]
use super::{abreast, avx2, avx512};
use crate::Still;

/// Makes a batch of `$scheme`: blocks by `$kernel` of the widest instruction set that there is, the remaining flows one
/// by one.
macro_rules! batch {
    ($(#[$doc:meta])* $name:ident, $scheme:ty, $plan:ty, $kernel:ident, $rest:ident) => {
        $(#[$doc])*
        pub fn $name(plan: &$plan, flows: &[u64], out: &mut [u16]) {
            #[cfg(target_arch = "x86_64")]
            {
                if flows.len() < avx2::LANES {
                    return $rest(plan, flows, out);
                }
                if avx512::available() {
                    return batch!(@blocks avx512, "avx512f", $plan, $kernel, $rest, plan, flows, out);
                }
                if avx2::available() {
                    return batch!(@blocks avx2, "avx2,fma", $plan, $kernel, $rest, plan, flows, out);
                }
            }
            each::<$scheme, _>(plan, &mut (), &mut Still, flows, out);
        }
    };
    (@blocks $set:ident, $features:literal, $plan:ty, $kernel:ident, $rest:ident, $group:ident, $flows:ident, $out:ident) => {{
        // The loop stands inside the function that enables the instructions, so that the kernel inlines.
        #[target_feature(enable = $features)]
        fn blocks(plan: &$plan, flows: &[[u64; $set::LANES]], out: &mut [[u16; $set::LANES]]) {
            for (flows, out) in flows.iter().zip(out) {
                *out = $set::$kernel(plan, flows);
            }
        }
        let (flow_blocks, flow_rest) = $flows.as_chunks();
        let (out_blocks, out_rest) = $out.as_chunks_mut();
        // SAFETY: the features that `blocks` enables were found on this machine.
        #[allow(unsafe_code)]
        unsafe {
            blocks($group, flow_blocks, out_blocks);
        }
        $rest($group, flow_rest, out_rest);
    }};
}

/// Fewest members that are worth a look side by side.
#[cfg(target_arch = "x86_64")]
const ABREAST: usize = 4;

/// Makes the picks that are left one by one, of a processor with AVX2 and FMA, members side by side.
macro_rules! abreast {
    ($name:ident, $scheme:ty, $plan:ty, $kernel:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[inline]
        fn $name(plan: &$plan, flows: &[u64], out: &mut [u16]) {
            #[target_feature(enable = "avx2,fma")]
            fn picks(plan: &$plan, flows: &[u64], out: &mut [u16]) {
                for (&flow, out) in flows.iter().zip(out) {
                    *out = abreast::$kernel(plan, flow);
                }
            }
            if plan.len() < ABREAST || !avx2::available() {
                return each::<$scheme, _>(plan, &mut (), &mut Still, flows, out);
            }
            // SAFETY: the features that `picks` enables were found on this machine.
            #[allow(unsafe_code)]
            unsafe {
                picks(plan, flows, out);
            }
        }
    };
}

abreast!(scores_abreast, Score, [score::Entry], score);
abreast!(rendezvous_abreast, Rendezvous, [rendezvous::Entry], rendezvous);

/// Makes the picks that are left one by one.
#[cfg(target_arch = "x86_64")]
fn each16(plan: &[score16::Bucket], flows: &[u64], out: &mut [u16]) {
    each::<Score16, _>(plan, &mut (), &mut Still, flows, out);
}

batch! {
    /// Picks by [`Score`] for one packet of each flow.
    score_batch, Score, [score::Entry], score, scores_abreast
}

batch! {
    /// Picks by [`Score16`] for one packet of each flow.
    score16_batch, Score16, [score16::Bucket], score16, each16
}

batch! {
    /// Picks by [`Rendezvous`] for one packet of each flow: the same picks as [`rendezvous_portable`].
    rendezvous_batch, Rendezvous, [rendezvous::Entry], rendezvous, rendezvous_abreast
}

/// Picks by [`Rendezvous`] for one packet of each flow, in integers alone.
pub fn rendezvous_portable(plan: &[rendezvous::Entry], flows: &[u64], out: &mut [u16]) {
    each::<Rendezvous, _>(plan, &mut (), &mut Still, flows, out);
}

#[cfg(test)]
mod tests {
    use super::super::mix;
    use super::*;
    use crate::apportion::reciprocal::reciprocals;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// Picks by one instruction set, whatever the processor would choose; `None` if it lacks the set.
    macro_rules! by {
        ($set:ident::$kernel:ident, $plan:expr, $flows:expr) => {
            $set::available().then(|| {
                let blocks = $flows.as_chunks::<{ $set::LANES }>().0.iter();
                // SAFETY: the features of this set were found on this machine.
                #[allow(unsafe_code)]
                blocks.flat_map(|flows| unsafe { $set::$kernel(&$plan, flows) }).collect::<Vec<_>>()
            })
        };
    }

    /// Compares both sets with single picks.
    macro_rules! assert_sets {
        ($kernel:ident, $plan:expr, $flows:expr, $single:expr) => {
            #[cfg(target_arch = "x86_64")]
            for picks in
                [by!(avx2::$kernel, $plan, $flows), by!(avx512::$kernel, $plan, $flows)].into_iter().flatten()
            {
                prop_assert_eq!(&picks[..], &$single[..picks.len()]);
            }
        };
    }

    /// Flows of a seed, not a multiple of any number of lanes.
    fn flows_of(seed: u64) -> Vec<u64> {
        let flows = if cfg!(miri) { 0..103u64 } else { 0..1003 };
        flows.map(|i| (seed ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17).collect()
    }

    fn any_weights() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(prop_oneof![1u32..100, 1u32..=u32::MAX >> 1], 1..40)
    }

    proptest! {
        #[test]
        fn scores_in_lanes_are_those_of_one_packet(weights in any_weights(), seed in any::<u64>()) {
            let flows = flows_of(seed);
            let (mut lanes, mut single) = (vec![0; flows.len()], vec![0; flows.len()]);
            let entry = |(member, &weight)| score::Entry { salt: mix::salt(member), weight, member };
            let plan = (0..).zip(&weights).map(entry).collect::<Vec<_>>();
            score_batch(&plan, &flows, &mut lanes);
            each::<Score, _>(&plan[..], &mut (), &mut Still, &flows, &mut single);
            prop_assert_eq!(&lanes, &single);
            #[cfg(target_arch = "x86_64")]
            scores_abreast(&plan, &flows, &mut lanes);
            prop_assert_eq!(&lanes, &single);
            assert_sets!(score, plan, flows, single);
        }

        #[test]
        fn scores_of_16_bits_in_lanes_are_those_of_one_packet(weights in any_weights(), seed in any::<u64>()) {
            let flows = flows_of(seed);
            let (mut lanes, mut single) = (vec![0; flows.len()], vec![0; flows.len()]);
            let bucket = |(member, &weight): (u16, &u32)| score16::Bucket {
                salt: mix::open_vswitch::salt(u32::from(member)),
                weight: (weight >> 15).max(1) as u16,
                member,
            };
            let plan = (0..).zip(&weights).map(bucket).collect::<Vec<_>>();
            score16_batch(&plan, &flows, &mut lanes);
            each::<Score16, _>(&plan[..], &mut (), &mut Still, &flows, &mut single);
            prop_assert_eq!(&lanes, &single);
            assert_sets!(score16, plan, flows, single);
        }

        #[test]
        fn rendezvous_in_lanes_is_that_of_one_packet(weights in any_weights(), seed in any::<u64>()) {
            let flows = flows_of(seed);
            let (mut lanes, mut single) = (vec![0; flows.len()], vec![0; flows.len()]);
            let plan = reciprocals(&weights.iter().map(|&w| u64::from(w)).collect::<Vec<_>>()).unwrap();
            rendezvous_batch(&plan, &flows, &mut lanes);
            rendezvous_portable(&plan, &flows, &mut single);
            prop_assert_eq!(&lanes, &single);
            #[cfg(target_arch = "x86_64")]
            rendezvous_abreast(&plan, &flows, &mut lanes);
            prop_assert_eq!(&lanes, &single);
            assert_sets!(rendezvous, plan, flows, single);
        }
    }

    /// Inverse of [`mix::finalise`].
    fn hash_of(value: u32) -> u32 {
        let mut hash = value ^ value >> 16;
        hash = hash.wrapping_mul(0x7ed1_b41d);
        hash ^= hash >> 13 ^ hash >> 26;
        hash = hash.wrapping_mul(0xa5cb_9243);
        hash ^ hash >> 16
    }

    /// Values so small that single precision loses their last bit, which decides here, and two members whose scores it
    /// does not tell apart, of which the later wins.
    #[test]
    fn what_single_precision_cannot_decide_the_integer_pick_does() {
        let faint = (reciprocals(&[100, 97, 1, 1]).unwrap(), [0, 1, 1 << 31, 1 << 31]);
        let mut near = (reciprocals(&[100, 100, 1, 1]).unwrap(), [1 << 30, 1 << 30, 1 << 31, 1 << 31]);
        near.0[0].reciprocal += 1;
        for (mut plan, values) in [faint, near] {
            for (entry, value) in plan.iter_mut().zip(values) {
                assert_eq!(mix::finalise(hash_of(value)), value);
                entry.salt = hash_of(value);
            }
            let (flows, mut lanes, mut single) = ([0; 35], [9; 35], [8; 35]);
            rendezvous_portable(&plan, &flows, &mut single);
            assert_eq!(single, [1; 35]);
            rendezvous_batch(&plan, &flows, &mut lanes);
            assert_eq!(lanes, single);
            #[cfg(target_arch = "x86_64")]
            rendezvous_abreast(&plan, &flows, &mut lanes);
            assert_eq!(lanes, single, "members side by side");
        }
    }

    /// Compares ten million flows over close and over very unequal weights: flows that the filter cannot decide must be
    /// rare enough to be cheap, and decided right. Miri (`make miri`), a hundred thousand times slower, takes a few.
    #[test]
    fn rendezvous_twins_agree_on_many_flows() {
        let flows = if cfg!(miri) { 0..1_000u64 } else { 0..10_000_000 };
        let flows = flows.map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).collect::<Vec<_>>();
        let (mut lanes, mut single) = (vec![0; flows.len()], vec![0; flows.len()]);
        for weights in [&[1, 1_000_000][..], &[100, 99, 98, 97, 1, 1, 2, 3]] {
            let plan = reciprocals(weights).unwrap();
            rendezvous_batch(&plan, &flows, &mut lanes);
            rendezvous_portable(&plan, &flows, &mut single);
            assert!(lanes == single, "weights {weights:?}");
            #[cfg(target_arch = "x86_64")]
            rendezvous_abreast(&plan, &flows, &mut lanes);
            assert!(lanes == single, "weights {weights:?}, members side by side");
        }
    }
}
