//! Min-move: a slot table that always holds Webster's counts, and changes the fewest slots to keep them.
//!
//! A slot changes hands only from a member that has too many to one that has too few, so a change moves
//! `sum max(0, had - has)` slots: the total variation distance between the two tables, which no table of this size
//! can undercut. The table depends on its history; replicas that must agree without one use rendezvous instead.

use super::webster::webster;
use std::vec;
use std::vec::Vec;

/// Fills an empty `table` by `weights`: each member's slots lie evenly spread, so that runs of consecutive hashes
/// (sequential ports under a linear hash) split evenly too.
pub fn fill<P: Copy + TryFrom<u16>>(table: &mut [P], weights: &[u64]) {
    let seats = webster(weights, table.len() as u32);
    // Odd, near the golden section of the table: consecutive ranks land far apart and fill every slot once.
    let stride = (table.len() as f64 * 0.618_033_988_749_895) as usize | 1;
    let mut slot = 0;
    for (member, &count) in (0u16..).zip(&seats) {
        let Ok(entry) = P::try_from(member) else { return };
        for _ in 0..count {
            table[slot] = entry;
            slot = (slot + stride) & (table.len() - 1);
        }
    }
}

/// Gives `table` Webster's counts for `weights` by moving the fewest slots; returns how many it moved.
///
/// Among the slots that may move, those go first that return to their owner in `home` (the table before a failure):
/// a member that comes back gets its own flows back. `table.len()` is a power of two; both tables name members below
/// `weights.len()`.
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
    for (entry, &owner) in table.iter_mut().zip(home) {
        let (now, then) = (usize::from((*entry).into()), usize::from(owner.into()));
        if surplus[now] > 0 && surplus[then] < 0 {
            surplus[now] -= 1;
            surplus[then] += 1;
            left -= 1;
            *entry = owner;
        }
    }
    let mut needy = (0u16..)
        .zip(&surplus)
        .filter(|&(_, &s)| s < 0)
        .filter_map(|(member, &s)| Some((P::try_from(member).ok()?, -s)))
        .collect::<Vec<_>>();
    let mut turn = 0;
    for entry in table.iter_mut() {
        if left == 0 {
            break;
        }
        let owner = &mut surplus[usize::from((*entry).into())];
        if *owner <= 0 {
            continue;
        }
        *owner -= 1;
        left -= 1;
        // Round robin over the needy, so that a dead member's slots spread over all who inherit.
        turn = if turn < needy.len() { turn } else { 0 };
        *entry = needy[turn].0;
        needy[turn].1 -= 1;
        if needy[turn].1 == 0 {
            needy.swap_remove(turn);
        } else {
            turn += 1;
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

    #[test]
    fn runs_of_hashes_split_evenly() {
        let mut table = vec![0u8; 4096];
        fill(&mut table, &[4, 3, 2]);
        for run in table.chunks(256) {
            let first = run.iter().filter(|&&m| m == 0).count();
            assert!((110..=118).contains(&first), "{first} of 256, wanted 113.8");
        }
    }
}
