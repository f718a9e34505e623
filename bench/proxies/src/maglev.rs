//! Maglev's tables as four programs fill them. They differ in whose turn it is, which is how each has weights, and in
//! the hash of a member's name. Written from the rules read in `facebookincubator/katran` (`MaglevHash.cpp`,
//! `MaglevHashV2.cpp`), `cilium/cilium` (`pkg/maglev/maglev.go`) and `envoyproxy/envoy` (`maglev_lb.cc`).

use crate::backends::Backends;
use crate::lookup::Lookup;
use crate::murmur3::murmur3;
use std::iter::{from_fn, repeat_n};
use xxhash_rust::xxh64::xxh64;

/// Default of Katran and Envoy.
pub(crate) const LARGE: usize = 65_537;
/// Default of Cilium.
pub(crate) const CILIUM: usize = 16_381;

/// A member's permutation of the table: `offset`, then every `skip`-th entry.
#[derive(Clone, Copy)]
pub(crate) struct Permutation {
    offset: usize,
    skip: usize,
}

impl Permutation {
    /// The two hashes of a name, reduced to a table of `length` as the paper has it (section 3.4).
    fn of(hashes: (u64, u64), length: usize) -> Self {
        let length = length as u64;
        Self { offset: (hashes.0 % length) as usize, skip: (hashes.1 % (length - 1)) as usize + 1 }
    }
}

/// Member of each entry: at its turn, a member takes the next free entry of its permutation. Turns name members by
/// their number among `permutations`.
pub(crate) fn filled(
    permutations: &[Permutation],
    length: usize,
    turns: impl Iterator<Item = usize>,
) -> Vec<usize> {
    let mut at = permutations.iter().map(|member| member.offset).collect::<Vec<_>>();
    let mut table = vec![usize::MAX; length];
    for member in turns.take(length) {
        while table[at[member]] != usize::MAX {
            at[member] = (at[member] + permutations[member].skip) % length;
        }
        table[at[member]] = member;
    }
    table
}

/// Katran's first rule: as many turns at once as the weight, in the first round; one a round after it.
fn katran_v1(weights: &[u64]) -> impl Iterator<Item = usize> {
    let first = weights.iter().enumerate().flat_map(|(member, &weight)| repeat_n(member, weight as usize));
    first.chain((0..weights.len()).cycle())
}

/// Katran's second rule: weights add up round by round, and the greatest weight buys a turn.
fn katran_v2(weights: &[u64]) -> impl Iterator<Item = usize> {
    let price = weights.iter().copied().max().unwrap_or(1);
    let mut saved = vec![0; weights.len()];
    (0..weights.len()).cycle().filter(move |&member| {
        saved[member] += weights[member];
        let buys = saved[member] >= price;
        saved[member] -= if buys { price } else { 0 };
        buys
    })
}

/// Envoy's rule: a member sits out rounds until `round * weight` reaches its target, which each turn raises by the
/// greatest weight. Weights are parts of their sum, in floating point.
fn envoy(weights: &[u64]) -> impl Iterator<Item = usize> {
    let sum = weights.iter().sum::<u64>() as f64;
    let parts = weights.iter().map(|&weight| weight as f64 / sum).collect::<Vec<_>>();
    let greatest = parts.iter().copied().fold(0.0, f64::max);
    let members = parts.len();
    let mut rounds = (1u32..).flat_map(move |round| (0..members).map(move |member| (round, member)));
    let mut targets = vec![0.0; members];
    from_fn(move || {
        let (_, member) =
            rounds.find(|&(round, member)| f64::from(round) * parts[member] >= targets[member])?;
        targets[member] += greatest;
        Some(member)
    })
}

/// Cilium's rule: the search for entry `n` begins at member `n` modulo their number, and takes the first for whom
/// `(n + 1) * weight` reaches a counter that begins at `weight / members` and grows by the sum of the weights.
fn cilium(weights: &[u64]) -> impl Iterator<Item = usize> {
    let members = weights.len();
    let sum = weights.iter().sum::<u64>();
    let mut counters = weights.iter().map(|&weight| weight as f64 / members as f64).collect::<Vec<_>>();
    (0..).map(move |entry: usize| {
        let mut member = entry % members;
        if sum / members as u64 > 1 {
            while (entry as u64 + 1) * weights[member] < counters[member] as u64 {
                member = (member + 1) % members;
            }
            counters[member] += sum as f64;
        }
        member
    })
}

/// The backends that have a weight, in the order in which a program lets them take turns.
struct Turns {
    present: Vec<usize>,
    permutations: Vec<Permutation>,
    weights: Vec<u64>,
    length: usize,
}

impl Turns {
    fn new<R: Ord>(
        backends: &Backends<'_>,
        length: usize,
        rank: impl Fn(&str) -> R,
        hashes: impl Fn(&str) -> (u64, u64),
    ) -> Self {
        let mut present = backends.present();
        present.sort_by_key(|&member| rank(&backends.names[member]));
        let permutation = |&member: &usize| Permutation::of(hashes(&backends.names[member]), length);
        let permutations = present.iter().map(permutation).collect();
        let weights = present.iter().map(|&member| backends.weights[member]).collect();
        Self { present, permutations, weights, length }
    }

    fn table(&self, turns: impl Iterator<Item = usize>) -> Lookup {
        let table = filled(&self.permutations, self.length, turns);
        Lookup::Table(table.into_iter().map(|turn| self.present[turn] as u16).collect())
    }
}

/// Katran's hashes of a backend whose address hashes to `address`.
fn katran_hashes(address: u64) -> (u64, u64) {
    let hash = |second: u64, seed| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&address.to_le_bytes());
        bytes[8..].copy_from_slice(&second.to_le_bytes());
        murmur3(&bytes, seed).0
    };
    (hash(42, 0), hash(2_718_281_828, 2307))
}

/// A number of its own for each address; Katran's is of another function.
fn address(name: &str) -> u64 {
    xxh64(name.as_bytes(), 0)
}

pub(crate) fn katran_v1_table(backends: &Backends<'_>) -> Lookup {
    let turns = Turns::new(backends, LARGE, address, |name| katran_hashes(address(name)));
    turns.table(katran_v1(&turns.weights))
}

pub(crate) fn katran_v2_table(backends: &Backends<'_>) -> Lookup {
    let turns = Turns::new(backends, LARGE, address, |name| katran_hashes(address(name)));
    turns.table(katran_v2(&turns.weights))
}

pub(crate) fn envoy_table(backends: &Backends<'_>) -> Lookup {
    envoy_table_of(backends, LARGE)
}

fn envoy_table_of(backends: &Backends<'_>, length: usize) -> Lookup {
    let hashes = |name: &str| (xxh64(name.as_bytes(), 0), xxh64(name.as_bytes(), 1));
    let turns = Turns::new(backends, length, str::to_owned, hashes);
    turns.table(envoy(&turns.weights))
}

/// The first four bytes of Cilium's default `hashSeed`.
const CILIUM_SEED: u32 = 0x24b7_ef82;

pub(crate) fn cilium_table(backends: &Backends<'_>) -> Lookup {
    cilium_table_of(backends, CILIUM)
}

fn cilium_table_of(backends: &Backends<'_>, length: usize) -> Lookup {
    let turns = Turns::new(backends, length, str::to_owned, |name| murmur3(name.as_bytes(), CILIUM_SEED));
    turns.table(cilium(&turns.weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(turns: impl Iterator<Item = usize>, members: usize, length: usize) -> Vec<usize> {
        let mut counts = vec![0; members];
        turns.take(length).for_each(|member| counts[member] += 1);
        counts
    }

    fn entries(lookup: Lookup) -> Vec<u16> {
        let Lookup::Table(table) = lookup else { panic!("no table") };
        table
    }

    /// Eisenbud et al., NSDI 2016, table 1: the permutations and the entries before and after the removal of B1.
    #[test]
    fn entries_are_those_of_the_paper() {
        let b0 = Permutation { offset: 3, skip: 4 };
        let b1 = Permutation { offset: 0, skip: 2 };
        let b2 = Permutation { offset: 3, skip: 1 };
        assert_eq!(filled(&[b0, b1, b2], 7, (0..3).cycle()), [1, 0, 1, 0, 2, 2, 0]);
        assert_eq!(filled(&[b0, b2], 7, (0..2).cycle()), [0, 0, 0, 0, 1, 1, 1]);
    }

    /// Envoy's own tests (`maglev_lb_test.cc`, `Basic` and `Weighted`), whose tables are written out.
    #[test]
    fn entries_are_those_of_envoys_tests() {
        let names = (90..96).map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>();
        assert_eq!(
            entries(envoy_table_of(&Backends { names: &names, weights: &[1; 6] }, 7)),
            [2, 4, 0, 1, 5, 0, 3]
        );
        let weighted = entries(envoy_table_of(&Backends { names: &names[..2], weights: &[1, 2] }, 17));
        assert_eq!(weighted, [1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1]);
    }

    /// Cilium's own test (`maglev_test.go`, `TestWeightedBackendWithRemoval`), which counts entries.
    #[test]
    fn counts_are_those_of_ciliums_test() {
        let names = ["one", "three", "two", "tzwe"].map(String::from);
        let table = entries(cilium_table_of(&Backends { names: &names, weights: &[2, 13, 111, 10] }, 1021));
        let counts = (0..4).map(|member| table.iter().filter(|&&entry| entry == member).count());
        assert_eq!(counts.collect::<Vec<_>>(), [16, 98, 832, 75]);
    }

    /// Katran's own tests (`MaglevHashTest.cpp`): 4 of 7 entries by the first rule, 5 by the second.
    #[test]
    fn counts_are_those_of_katrans_tests() {
        assert_eq!(counts(katran_v1(&[2, 1]), 2, 7), [4, 3]);
        assert_eq!(counts(katran_v2(&[2, 1]), 2, 7), [5, 2]);
    }

    /// Turns worked out by hand, with sums that meet the price and the target exactly.
    #[test]
    fn whoever_meets_the_price_has_a_turn() {
        assert_eq!(katran_v2(&[3, 2]).take(6).collect::<Vec<_>>(), [0, 0, 1, 0, 1, 0]);
        assert_eq!(envoy(&[1, 2]).take(7).collect::<Vec<_>>(), [0, 1, 0, 1, 1, 0, 1]);
    }
}
