//! Maglev: members take turns to claim the next free entry of their own permutation of the table.
//!
//! Eisenbud et al., "Maglev: a fast and reliable software network load balancer" (NSDI 2016), section 3.4. The paper
//! leaves weights open; the turns here are those of Envoy's load balancer (`maglev_lb.cc`): a member of weight `w` skips
//! rounds so that after `r` of them it has had `min(r, floor(r w / w_max) + 1)` turns, which gives every positive weight
//! its first turn in the first round.

use std::vec;
use std::vec::Vec;

/// Whether `n` is a prime, as the length of a table must be: only then does every skip visit every entry.
#[must_use]
pub fn is_prime(n: u32) -> bool {
    n >= 2
        && (2u32..)
            .take_while(|d| u64::from(*d) * u64::from(*d) <= u64::from(n))
            .all(|d| !n.is_multiple_of(d))
}

/// Permutation of the table for one member.
struct Walk {
    member: u16,
    weight: u64,
    entry: u32,
    skip: u32,
    turns: u64,
}

/// Member of each of `length` entries; `length` is a prime not below the number of positive weights. A member's
/// permutation depends on its number and `length` alone.
#[must_use]
pub fn table(weights: &[u64], length: u32) -> Vec<u16> {
    let heaviest = weights.iter().copied().max().unwrap_or(0);
    let mut walks: Vec<Walk> = (0..)
        .zip(weights)
        .filter(|&(_, &weight)| weight > 0)
        .map(|(member, &weight)| {
            let name = mixed(u64::from(member));
            Walk {
                member,
                weight,
                entry: (name % u64::from(length)) as u32,
                skip: (mixed(name) % u64::from(length - 1)) as u32 + 1,
                turns: 0,
            }
        })
        .collect();
    let mut owners: Vec<Option<u16>> = vec![None; length as usize];
    let mut free = length;
    for round in 1u64.. {
        for walk in &mut walks {
            let due = u128::from(round) * u128::from(walk.weight);
            if due < u128::from(walk.turns) * u128::from(heaviest) {
                continue;
            }
            if free == 0 {
                return owners.into_iter().flatten().collect();
            }
            while owners[walk.entry as usize].is_some() {
                walk.entry = ((u64::from(walk.entry) + u64::from(walk.skip)) % u64::from(length)) as u32;
            }
            owners[walk.entry as usize] = Some(walk.member);
            walk.turns += 1;
            free -= 1;
        }
    }
    Vec::new()
}

/// Mixes `seed` by SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn mixed(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
