//! Niagara: few wildcard rules on the low bits of the hash approximate the weights by sums and differences of powers
//! of one half (Kang et al., "Efficient traffic splitting on commodity switches", CoNEXT 2015, section 4).

use super::cumulative::{HASHES, widths};
use crate::picks::wildcard::{NONE, Suffix};
use std::collections::{BTreeMap, BTreeSet};
use std::vec;
use std::vec::Vec;

/// Set of hashes whose low `bits` bits equal `pattern`. Ordered by size, the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// Number of low bits that are fixed, 0 to 32.
    pub bits: u32,
    /// Value of the fixed bits.
    pub pattern: u32,
}

impl Piece {
    /// Piece of all hashes.
    const ALL: Self = Self { bits: 0, pattern: 0 };

    fn size(self) -> u64 {
        HASHES >> self.bits
    }

    /// Splits the piece into its two halves, which differ in the next bit.
    fn halves(self) -> [Self; 2] {
        [0, 1].map(|bit| Self { bits: self.bits + 1, pattern: self.pattern | bit << self.bits })
    }

    /// Piece of which this one is a half.
    fn whole(self) -> Option<Self> {
        let bits = self.bits.checked_sub(1)?;
        Some(Self { bits, pattern: self.pattern & !(1 << bits) })
    }
}

/// Wildcard rules, and the hashes that they give to members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Member of each rule's piece, except where a smaller piece has a rule of its own.
    pub rules: BTreeMap<Piece, u16>,
    /// Number of hashes of each member, [`HASHES`] in sum.
    pub hashes: Vec<u64>,
}

impl Rules {
    /// Rule that decides `hash`, and its member.
    #[must_use]
    pub fn longest_match(&self, hash: u32) -> Option<(Piece, u16)> {
        (0..=u32::BITS).rev().find_map(|bits| {
            let pattern = (u64::from(hash) & ((1 << bits) - 1)) as u32;
            let piece = Piece { bits, pattern };
            Some((piece, *self.rules.get(&piece)?))
        })
    }
}

/// Finds at most `budget` rules (at least one) for `weights`, greedily: everything starts with the heaviest member;
/// then, again and again, the member that lacks most is given the one piece, cut from a member with too much, that
/// reduces the imbalance most.
#[must_use]
pub fn rules(weights: &[u64], budget: usize) -> Rules {
    let wanted = widths(weights);
    let heaviest = (0..weights.len()).rev().max_by_key(|&i| weights[i]).unwrap_or(0);
    let mut hashes = vec![0u64; weights.len()];
    hashes[heaviest] = HASHES;
    let mut owned: Vec<BTreeSet<Piece>> = vec![BTreeSet::new(); weights.len()];
    owned[heaviest].insert(Piece::ALL);
    let mut rules = BTreeMap::from([(Piece::ALL, heaviest as u16)]);
    loop {
        let lack = |i: usize| wanted[i].saturating_sub(hashes[i]);
        let needy = (0..weights.len()).rev().max_by_key(|&i| lack(i)).unwrap_or(0);
        let donor = (0..weights.len())
            .rev()
            .filter(|&i| hashes[i] > wanted[i])
            .filter_map(|i| {
                let largest = owned[i].first()?.size();
                let size = best_size(hashes[i] - wanted[i], lack(needy), largest);
                let gain = gain(hashes[i] - wanted[i], lack(needy), size);
                (gain > 0).then_some((gain, size, i))
            })
            .max_by_key(|&(gain, _, _)| gain);
        let Some((_, size, donor)) = donor else { break };
        // The smallest piece that is large enough: large pieces stay whole for large needs.
        let bits = (HASHES / size).trailing_zeros();
        let Some(mut piece) = owned[donor].range(..=Piece { bits, pattern: u32::MAX }).next_back().copied()
        else {
            break;
        };
        let replaces = piece.bits == bits && rules.contains_key(&piece);
        if !replaces && rules.len() == budget {
            break;
        }
        owned[donor].remove(&piece);
        while piece.bits < bits {
            let [cut, kept] = piece.halves();
            owned[donor].insert(kept);
            piece = cut;
        }
        owned[needy].insert(piece);
        hashes[donor] -= size;
        hashes[needy] += size;
        rules.remove(&piece);
        let mut around = piece;
        let cover = std::iter::from_fn(|| {
            around = around.whole()?;
            Some(rules.get(&around).copied())
        });
        if cover.flatten().next() != Some(needy as u16) {
            rules.insert(piece, needy as u16);
        }
    }
    Rules { rules, hashes }
}

/// Reduction of the imbalance when `size` moves from an excess to a lack; negative if it grows.
fn gain(excess: u64, lack: u64, size: u64) -> i64 {
    (excess.min(size) + lack.min(size)) as i64 - size as i64
}

/// Power of two up to `largest` with the greatest [`gain`]. The gain rises up to the smaller of both, is level up to
/// the larger, and falls beyond, so the candidates are the powers on either side of the smaller one.
fn best_size(excess: u64, lack: u64, largest: u64) -> u64 {
    let smaller = excess.min(lack).max(1);
    let below = 1 << smaller.ilog2();
    let above = smaller.next_power_of_two();
    [above, below]
        .into_iter()
        .map(|size: u64| size.min(largest))
        .max_by_key(|&size| (gain(excess, lack, size), size))
        .unwrap_or(below)
}

/// Builds the trie of `rules`.
#[must_use]
pub fn trie(rules: &BTreeMap<Piece, u16>) -> Vec<Suffix> {
    let leaf = Suffix { child: [0; 2], member: NONE };
    let mut nodes = vec![leaf];
    for (piece, &member) in rules {
        let mut node = 0;
        for bit in 0..piece.bits {
            let side = (piece.pattern >> bit & 1) as usize;
            if nodes[node].child[side] == 0 {
                nodes[node].child[side] = nodes.len() as u32;
                nodes.push(leaf);
            }
            node = nodes[node].child[side] as usize;
        }
        nodes[node].member = member;
    }
    nodes
}
