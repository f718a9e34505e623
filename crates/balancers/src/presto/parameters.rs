//! Presto's lists: the paths from a leaf to another in the order in which flowcells take them.

use anabranch_plan::gcd;
use anabranch_split::apportion::turns;
use anabranch_split::picks::Flowcell;

/// In which order flowcells take paths that weigh the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// Order by number: paths that share their first links follow each other.
    #[default]
    Lexicographic,
    /// Drawn once per list.
    Random,
}

/// Settings of Presto's hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Payload of a flowcell, in bytes.
    pub cell_bytes: u32,
    /// In which order they take paths.
    pub order: Order,
    /// Whether paths stand in lists in proportion to the rate of their slowest link.
    pub weighted: bool,
    /// Longest hold of a gap at a flowcell's border at receivers that have no other hold, in picoseconds; no hold if zero.
    pub hold_ps: u64,
}

impl Settings {
    /// 64 KiB, by number, unweighted, 100 us.
    pub const DEFAULT: Self = Self {
        cell_bytes: Flowcell::BYTES,
        order: Order::Lexicographic,
        weighted: false,
        hold_ps: 100_000_000,
    };
}

/// Longest list that weights may ask for; beyond, they are rounded.
const TURNS_MAX: u64 = 1 << 16;

/// The list of paths `0..weights.len()`, each as often as its weight, without their common divisor, says, and spread evenly
/// ([`turns::smooth`]). `below(n)` draws a number below `n`. Where that would be longer than 65,536 turns, weights are
/// rounded, none of the positive ones to zero.
#[must_use]
pub fn list(weights: &[u64], order: Order, mut below: impl FnMut(u64) -> u64) -> Vec<u16> {
    let mut paths: Vec<u16> = (0..).take(weights.len()).collect();
    if order == Order::Random {
        // Fisher and Yates, as Knuth has it (TAOCP vol. 2, 3.4.2, algorithm P).
        for last in (1..paths.len()).rev() {
            paths.swap(last, below(last as u64 + 1) as usize);
        }
    }
    let weights = bounded(weights);
    let shuffled: Vec<u64> = paths.iter().map(|&path| weights[usize::from(path)]).collect();
    match turns::smooth(&shuffled) {
        Ok(turns) => turns.iter().map(|&turn| paths[usize::from(turn)]).collect(),
        // Not with weights that are bounded.
        Err(_) => paths,
    }
}

/// The weights without their common divisor, if their sum is bearable, or so rounded that it is.
fn bounded(weights: &[u64]) -> Vec<u64> {
    let divisor = weights.iter().fold(0, |a, &b| gcd(a, b)).max(1);
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight / divisor)).sum();
    if sum <= u128::from(TURNS_MAX) {
        return weights.iter().map(|weight| weight / divisor).collect();
    }
    let scaled = |weight: u64| (u128::from(weight / divisor) * u128::from(TURNS_MAX) / sum) as u64;
    weights.iter().map(|&weight| scaled(weight).max(u64::from(weight > 0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_fabric::topology::FatTree;
    use anabranch_fabric::{LinkState, NextHops, paths};

    #[test]
    fn consecutive_paths_of_a_fat_tree_share_the_aggregation() {
        // Luopan, Fig. 4: after (aggregation 2, core 4) come (2, 5) and (2, 6). Counted from zero here.
        let fabric = FatTree { k: 12, ..FatTree::default() }.build().unwrap();
        let hops = NextHops::shortest(&fabric, &LinkState::of(&fabric));
        let (from, to) = (hops.leaves[0], hops.leaves.len() as u32 - 1);
        let counts = paths::path_counts(&fabric, &hops, to);
        let number = counts[hops.switch(from)];
        assert_eq!(number, 36);
        let list = list(&[1; 36], Order::Lexicographic, |_| 0);
        let choices: Vec<(u32, u32)> = list
            .iter()
            .map(|&index| paths::path(&fabric, &hops, &counts, from, to, index.into()).unwrap().labels)
            .map(|labels| (labels & 0xff, labels >> 8))
            .collect();
        let start = choices.iter().position(|&choice| choice == (1, 3)).unwrap();
        assert_eq!(choices[start..start + 4], [(1, 3), (1, 4), (1, 5), (2, 0)]);
    }

    #[test]
    fn a_path_of_a_fifth_of_the_capacity_gets_one_turn_in_sixteen() {
        let weights = [10_000_000_000, 10_000_000_000, 2_000_000_000, 10_000_000_000];
        let list = list(&weights, Order::Lexicographic, |_| 0);
        assert_eq!(list.len(), 16);
        assert_eq!(list.iter().filter(|&&path| path == 2).count(), 1);
        // No path waits longer than it must: at most five turns pass without each of the large ones.
        for path in [0, 1, 3] {
            assert!(list.windows(5).all(|turns| turns.contains(&path)), "{list:?}");
        }
    }

    #[test]
    fn a_random_order_is_a_permutation_that_keeps_weights() {
        let mut seed = 1u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let random = list(&[1; 36], Order::Random, &mut below);
        assert_ne!(random, (0..36).collect::<Vec<u16>>());
        let mut sorted = random;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..36).collect::<Vec<u16>>());
        let weighted = list(&[3, 0, 1], Order::Random, below);
        assert_eq!([0, 1, 2].map(|path| weighted.iter().filter(|&&p| p == path).count()), [3, 0, 1]);
    }

    #[test]
    fn weights_without_a_bearable_divisor_are_rounded() {
        let list = list(&[9_999_999_967, 1_999_999_973, 1], Order::Lexicographic, |_| 0);
        assert!(list.len() <= 65_537, "{}", list.len());
        let count = |path: u16| list.iter().filter(|&&p| p == path).count() as f64;
        assert!((count(0) / count(1) - 5.0).abs() < 1e-3, "{} {}", count(0), count(1));
        assert_eq!(count(2), 1.0);
    }
}
