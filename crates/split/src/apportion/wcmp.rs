//! WCMP: weights reduced to a table of few entries, one entry per unit of reduced weight.
//!
//! There are three readings, because three are in use: the greedy algorithm of the WCMP paper, the proportional
//! reduction that the VALO paper draws, and the one that its published code runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::vec::Vec;

/// Ratio `count / weight`, ordered exactly.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    count: u32,
    weight: u128,
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ratio {}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (u128::from(self.count) * other.weight).cmp(&(u128::from(other.count) * self.weight))
    }
}

/// Number of entries per member, at most `limit` in sum, by the greedy algorithm of Zhou et al., "WCMP: weighted cost
/// multipathing for improved fairness in data centers" (EuroSys 2014), algorithm 1: from one entry each, grow the
/// member whose `(count + 1) / weight` is least, and return the table among those visited with the least
/// oversubscription `max_i (count_i / sum count) / (weight_i / sum weight)`, the smallest of equals.
///
/// Returns `None` if `limit` is less than the number of positive weights.
#[must_use]
pub fn greedy(weights: &[u64], limit: u32) -> Option<Vec<u32>> {
    let mut counts: Vec<u32> = weights.iter().map(|&w| u32::from(w > 0)).collect();
    let smallest: u32 = counts.iter().sum();
    if smallest > limit {
        return None;
    }
    let mut next: BinaryHeap<Reverse<(Ratio, usize)>> = (0..weights.len())
        .filter(|&i| weights[i] > 0)
        .map(|i| Reverse((Ratio { count: 2, weight: weights[i].into() }, i)))
        .collect();
    let lightest = *weights.iter().filter(|&&w| w > 0).min()?;
    // The largest count / weight; of one table size, it orders the oversubscription.
    let mut peak = Ratio { count: 1, weight: lightest.into() };
    let over = |peak: Ratio, size: u32| Ratio { count: peak.count, weight: peak.weight * u128::from(size) };
    let (mut best, mut best_size) = (over(peak, smallest), smallest);
    let mut grown = Vec::new();
    for size in smallest + 1..=limit {
        let Some(Reverse((ratio, member))) = next.pop() else { break };
        peak = peak.max(ratio);
        grown.push(member);
        next.push(Reverse((Ratio { count: ratio.count + 1, weight: ratio.weight }, member)));
        if over(peak, size) < best {
            (best, best_size) = (over(peak, size), size);
        }
    }
    for &member in &grown[..(best_size - smallest) as usize] {
        counts[member] += 1;
    }
    Some(counts)
}

/// Treatment of a weight that the proportional reduction rounds to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// Keeps one entry (VALO paper, Fig. 3b).
    One,
    /// Loses all entries, and its member starves (the paper's published code casts a ratio below one to an integer).
    Zero,
}

/// Reduces weights: while their sum exceeds `limit`, every weight becomes `w (limit - ones) / sum w`, rounded half up,
/// where `ones` counts the weights at one. Stops when nothing changes, even if the sum is above `limit`: counts only
/// fall, so it does stop, whereas the published code runs on.
#[must_use]
pub fn proportional(weights: &[u64], limit: u32, floor: Floor) -> Vec<u64> {
    let total: u128 = weights.iter().map(|&w| u128::from(w)).sum();
    let mut reduced = weights.to_vec();
    while reduced.iter().sum::<u64>() > u64::from(limit) {
        let ones = reduced.iter().filter(|&&r| r == 1).count() as u128;
        let room = u128::from(limit).saturating_sub(ones);
        let next: Vec<u64> = weights
            .iter()
            .map(|&w| {
                let least = u64::from(floor == Floor::One && w > 0);
                (((2 * u128::from(w) * room + total) / (2 * total)) as u64).max(least)
            })
            .collect();
        if next == reduced {
            break;
        }
        reduced = next;
    }
    reduced
}
