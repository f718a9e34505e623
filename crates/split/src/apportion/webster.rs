//! Webster's apportionment: slots to members by rounded quotients, the rule of least mean error per slot.

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::vec::Vec;

/// Claim to a slot, compared as the fraction `weight / (2 seats + 1)`; of equal claims the lower member's is greater.
#[derive(PartialEq, Eq)]
struct Claim {
    weight: u64,
    divisor: u64,
    member: Reverse<usize>,
}

impl Ord for Claim {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        let (a, b) = (
            u128::from(self.weight) * u128::from(other.divisor),
            u128::from(other.weight) * u128::from(self.divisor),
        );
        a.cmp(&b).then_with(|| self.member.cmp(&other.member))
    }
}

impl PartialOrd for Claim {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Number of slots of each member, `slots` in all, by weight; every member of positive weight gets at least one, so
/// that it can be reached. Members of positive weight must not outnumber the slots.
///
/// Takes O(n log n): quotas are rounded first, then the few slots over or under are settled claim by claim.
#[must_use]
pub fn webster(weights: &[u64], slots: u32) -> Vec<u32> {
    let sum = weights.iter().map(|&w| u128::from(w)).sum::<u128>();
    let quota = |w: u64| ((2 * u128::from(w) * u128::from(slots) + sum) / (2 * sum)) as u32;
    let mut seats = weights.iter().map(|&w| if w == 0 { 0 } else { quota(w).max(1) }).collect::<Vec<_>>();
    let mut given = seats.iter().map(|&s| u64::from(s)).sum::<u64>();
    let slots = u64::from(slots);
    let claim = |seats: &[u32], i: usize, divisor: u64| Claim {
        weight: weights[i],
        divisor: 2 * u64::from(seats[i]) + divisor,
        member: Reverse(i),
    };
    if given < slots {
        let mut claims = (0..weights.len())
            .filter(|&i| weights[i] > 0)
            .map(|i| claim(&seats, i, 1))
            .collect::<BinaryHeap<_>>();
        while given < slots {
            let Some(Claim { member: Reverse(i), .. }) = claims.pop() else { break };
            seats[i] += 1;
            given += 1;
            claims.push(claim(&seats, i, 1));
        }
    } else if given > slots {
        // The least claim to a seat already held gives it back: weight / (2 seats - 1).
        let held = |seats: &[u32], i: usize| {
            Reverse(Claim { weight: weights[i], divisor: 2 * u64::from(seats[i]) - 1, member: Reverse(i) })
        };
        let mut claims =
            (0..weights.len()).filter(|&i| seats[i] > 1).map(|i| held(&seats, i)).collect::<BinaryHeap<_>>();
        while given > slots {
            let Some(Reverse(Claim { member: Reverse(i), .. })) = claims.pop() else { break };
            seats[i] -= 1;
            given -= 1;
            if seats[i] > 1 {
                claims.push(held(&seats, i));
            }
        }
    }
    seats
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    /// Follows the rule literally: slot by slot to the greatest quotient, members without a slot first.
    fn slot_by_slot(weights: &[u64], slots: u32) -> Vec<u32> {
        let mut seats = weights.iter().map(|&w| u32::from(w > 0)).collect::<Vec<_>>();
        for _ in seats.iter().sum::<u32>()..slots {
            let mut best = None::<usize>;
            for i in 0..weights.len() {
                let ahead = best.is_none_or(|b| {
                    u128::from(weights[i]) * u128::from(2 * seats[b] + 1)
                        > u128::from(weights[b]) * u128::from(2 * seats[i] + 1)
                });
                if weights[i] > 0 && ahead {
                    best = Some(i);
                }
            }
            seats[best.unwrap()] += 1;
        }
        seats
    }

    #[test]
    fn known_tables() {
        assert_eq!(webster(&[4, 3], 16), [9, 7]);
        assert_eq!(webster(&[4, 3, 2], 16), [7, 5, 4]);
        assert_eq!(webster(&[1, 1, 1], 16), [6, 5, 5]);
        assert_eq!(webster(&[1, 1_000_000_000, 0], 4096), [1, 4095, 0]);
    }

    proptest! {
        #[test]
        fn the_short_way_is_the_rule(
            weights in prop::collection::vec(prop_oneof![0u64..5, 1u64..1000, 1u64..1 << 40], 1..40),
            slots in 40u32..600,
        ) {
            prop_assume!(weights.iter().any(|&w| w > 0));
            prop_assert_eq!(webster(&weights, slots), slot_by_slot(&weights, slots));
        }
    }

    #[test]
    fn equal_weights_differ_by_one_slot() {
        let seats = webster(&vec![7; 1024], 65_536 + 5);
        assert_eq!(seats.iter().sum::<u32>(), 65_541);
        assert!(seats.iter().all(|&s| s == 64 || s == 65));
    }
}
