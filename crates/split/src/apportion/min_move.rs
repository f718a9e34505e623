//! Min-move: a slot table that always holds Webster's counts, and changes the fewest slots to keep them.
//!
//! A slot moves only from a member that has too many to one that has too few, so a change moves `sum max(0, had - has)`
//! slots: the total variation distance between the two tables, which is a lower bound for any table of this size. The
//! table depends on its history; replicas that must agree without one use rendezvous instead.
//!
//! Every pass over the slots is by `ranks`, with neighbours far apart: the slots that a member wins or loses are
//! evenly spread over the table, before and after any change, so that runs of consecutive hashes (sequential ports
//! under a linear hash) split evenly too.

use super::turns::smooth;
use super::webster::webster;
use std::vec;
use std::vec::Vec;

/// All slots of a table of `length`, each once, by a stride near its golden section that has no divisor in common with
/// it: the slots of any run of ranks are evenly spread.
fn ranks(length: usize) -> impl Iterator<Item = usize> {
    let golden = (length as f64 * 0.618_033_988_749_895) as usize | 1;
    let stride = (golden..).step_by(2).find(|&stride| coprime(stride, length)).unwrap_or(1) % length.max(1);
    let mut slot = 0;
    (0..length).map(move |_| {
        let now = slot;
        slot += stride;
        if slot >= length {
            slot -= length;
        }
        now
    })
}

/// Whether two numbers have no divisor in common but 1 (Euclid).
fn coprime(mut a: usize, mut b: usize) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

/// Fills an empty `table` by `weights`.
pub fn fill<P: Copy + TryFrom<u16>>(table: &mut [P], weights: &[u64]) {
    let seats = webster(weights, table.len() as u32);
    let mut slots = ranks(table.len());
    for (member, &count) in (0u16..).zip(&seats) {
        let Ok(entry) = P::try_from(member) else { return };
        slots.by_ref().take(count as usize).for_each(|slot| table[slot] = entry);
    }
}

/// Gives `table` Webster's counts for `weights` by moving the fewest slots; returns how many it moved.
///
/// Among the slots that may move, those go first that return to their owner in `home` (the table before a failure): a
/// member that comes back gets its own flows back. Next go those that are away from home anyway, so that as few as
/// possible are away when all members are back. Both tables are of one length and name members below `weights.len()`.
pub fn rebalance<P>(table: &mut [P], home: &[P], weights: &[u64]) -> usize
where
    P: Copy + TryFrom<u16> + Into<u16>,
{
    let wanted = webster(weights, table.len() as u32);
    // How many slots each member has too many (positive) or too few.
    let mut surplus = vec![0i64; weights.len()];
    for &entry in table.iter() {
        surplus[usize::from(entry.into())] += 1;
    }
    for (have, &want) in surplus.iter_mut().zip(&wanted) {
        *have -= i64::from(want);
    }
    let moves = surplus.iter().filter(|&&s| s > 0).sum::<i64>() as usize;
    let mut left = moves;
    // From a table that is all at home, as before most failures, there is none to return and none to prefer.
    let strays = table.iter().zip(home).any(|(&now, &then)| now.into() != then.into());
    for slot in ranks(table.len()).take_while(|_| strays) {
        if left == 0 {
            return moves;
        }
        let (now, then) = (usize::from(table[slot].into()), usize::from(home[slot].into()));
        if surplus[now] > 0 && surplus[then] < 0 {
            surplus[now] -= 1;
            surplus[then] += 1;
            left -= 1;
            table[slot] = home[slot];
        }
    }
    let needs = surplus.iter().map(|&s| s.min(0).unsigned_abs()).collect::<Vec<_>>();
    let mut given = Vec::with_capacity(left);
    for at_home in [false, true].into_iter().skip(usize::from(!strays)) {
        for slot in ranks(table.len()) {
            if given.len() == left {
                break;
            }
            let (now, then) = (usize::from(table[slot].into()), usize::from(home[slot].into()));
            if surplus[now] > 0 && (now == then) == at_home {
                surplus[now] -= 1;
                given.push(slot);
            }
        }
    }
    // In turns by need, so that every part of what one member loses spreads over all who inherit.
    let Ok(heirs) = smooth(&needs) else { unreachable!("a table has less slots than a sequence has turns") };
    for (slot, &heir) in given.into_iter().zip(heirs.iter().cycle()) {
        if let Ok(entry) = P::try_from(heir) {
            table[slot] = entry;
        }
    }
    moves
}
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(table: &[u16], n: usize) -> Vec<u32> {
        let mut counts = vec![0; n];
        table.iter().for_each(|&m| counts[usize::from(m)] += 1);
        counts
    }

    proptest! {
        #[test]
        fn any_change_moves_the_least(
            before in prop::collection::vec(0u64..100, 1..20),
            after in prop::collection::vec(0u64..100, 1..20),
        ) {
            prop_assume!(before.iter().any(|&w| w > 0) && after.iter().any(|&w| w > 0));
            let n = before.len().max(after.len());
            let pad = |w: &[u64]| { let mut w = w.to_vec(); w.resize(n, 0); w };
            let mut table = vec![0u16; 256];
            fill(&mut table, &pad(&before));
            prop_assert_eq!(counts(&table, n), webster(&pad(&before), 256));
            let old = table.clone();
            let moved = rebalance(&mut table, &old, &pad(&after));
            prop_assert_eq!(counts(&table, n), webster(&pad(&after), 256));
            let differ = old.iter().zip(&table).filter(|(a, b)| a != b).count();
            let least = counts(&old, n).iter().zip(counts(&table, n)).map(|(&a, b)| a.saturating_sub(b) as usize).sum::<usize>();
            prop_assert_eq!(differ, moved);
            prop_assert_eq!(differ, least);
        }
    }

    #[test]
    fn who_returns_gets_its_own_slots_back() {
        let mut table = vec![0u16; 4096];
        fill(&mut table, &[4, 3, 2, 1]);
        let home = table.clone();
        for dead in 0..4 {
            let mut weights = [4, 3, 2, 1];
            weights[dead] = 0;
            rebalance(&mut table, &home, &weights);
            assert_ne!(table, home);
            rebalance(&mut table, &home, &[4, 3, 2, 1]);
            assert_eq!(table, home);
        }
    }

    /// Largest distance of a member's slots in a run of the table from its share, in binomial standard deviations.
    fn unevenness(table: &[u16], members: usize, run: usize) -> f64 {
        let whole = counts(table, members);
        let share = |member: usize| f64::from(whole[member]) / table.len() as f64;
        let deviations = table.chunks(run).flat_map(|part| {
            let part = counts(part, members);
            (0..members)
                .filter(|&member| share(member) > 0.0)
                .map(move |member| {
                    let expected = share(member) * run as f64;
                    (f64::from(part[member]) - expected).abs() / (expected * (1.0 - share(member))).sqrt()
                })
                .collect::<Vec<_>>()
        });
        deviations.fold(0.0, f64::max)
    }

    #[test]
    fn runs_of_hashes_split_evenly_after_every_change() {
        let changes: &[&[&[u64]]] = &[
            &[&[4, 3, 2], &[4, 3, 2, 5]],
            &[&[1; 4], &[1; 5], &[1, 1, 1, 0, 1], &[1; 5]],
            &[&[5, 4, 3, 2], &[5, 0, 3, 2], &[5, 0, 0, 2], &[5, 4, 0, 2], &[5, 4, 3, 2], &[5, 4, 3, 2, 3]],
            &[&[1; 14], &[1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]],
        ];
        for steps in changes {
            let members = steps.iter().map(|weights| weights.len()).max().unwrap();
            for length in [4096, 65_536] {
                let mut table = vec![0u16; length];
                fill(&mut table, steps[0]);
                let home = table.clone();
                for weights in *steps {
                    let mut weights = weights.to_vec();
                    weights.resize(members, 0);
                    rebalance(&mut table, &home, &weights);
                    let worst = unevenness(&table, members, length / 16);
                    assert!(worst < 1.5, "{weights:?} over {length} slots: {worst:.2} standard deviations");
                }
            }
        }
    }

    #[test]
    fn two_failures_and_returns_leave_every_slot_at_home() {
        for whole in [&[1; 4][..], &[1; 8], &[4, 3, 2, 1], &[7, 5, 3, 3, 2, 2, 1, 1]] {
            for (first, second) in (0..whole.len()).flat_map(|a| (0..whole.len()).map(move |b| (a, b))) {
                for returns_first in [first, second] {
                    let mut table = vec![0u16; 4096];
                    fill(&mut table, whole);
                    let home = table.clone();
                    let dead = [&[first][..], &[first, second], &[first + second - returns_first], &[]];
                    for dead in dead {
                        let up = |member| !dead.contains(&member);
                        let weights: Vec<u64> =
                            whole.iter().enumerate().map(|(i, &w)| if up(i) { w } else { 0 }).collect();
                        rebalance(&mut table, &home, &weights);
                    }
                    let away = table.iter().zip(&home).filter(|(a, b)| a != b).count();
                    assert_eq!(
                        away, 0,
                        "{whole:?}: {first} and {second} fail, {returns_first} returns first"
                    );
                }
            }
        }
    }

    #[test]
    fn what_a_dead_member_had_spreads_over_all_by_weight() {
        let mut table = vec![0u16; 4096];
        fill(&mut table, &[4, 3, 2, 1]);
        let home = table.clone();
        rebalance(&mut table, &home, &[0, 3, 2, 1]);
        // Every quarter of what the first member had, by the others' weights.
        let heirs: Vec<u16> = (0..4096).filter(|&slot| home[slot] == 0).map(|slot| table[slot]).collect();
        for part in heirs.chunks(heirs.len() / 4) {
            for (member, weight) in [(1, 3.0), (2, 2.0), (3, 1.0)] {
                let got = part.iter().filter(|&&heir| heir == member).count() as f64;
                assert!(
                    (got - part.len() as f64 * weight / 6.0).abs() < 12.0,
                    "{member}: {got} of {}",
                    part.len()
                );
            }
        }
    }
}
