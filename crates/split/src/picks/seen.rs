//! Filter of the flows seen: a Bloom filter whose bits of one flow share a word (Putze, Sanders, Singler 2007, "Cache-,
//! hash- and space-efficient Bloom filters"), in layers of doubling size as flows come (Almeida et al. 2007, "Scalable
//! Bloom filters"). 24 bits per flow at capacity.

use super::exceptions::Arrivals;
use std::vec;
use std::vec::Vec;

const WORDS_MIN: usize = 4096;
/// Number of flows for eight words of 64 bits, and of bits set per flow.
const FLOWS_PER_EIGHT_WORDS: usize = 21;
const BITS_PER_FLOW: u32 = 5;

/// Flows seen so far. A known flow is always recognised; of the new ones, fewer than one in 200 is mistaken for a known
/// one.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Layers of words, the newest last, each twice as large as the one before.
    layers: Vec<Vec<u64>>,
    /// Number of flows that the newest layer has room for.
    room: usize,
}

impl Default for Seen {
    fn default() -> Self {
        let mut seen = Self { layers: Vec::new(), room: 0 };
        seen.add_layer(WORDS_MIN);
        seen
    }
}

impl Seen {
    fn add_layer(&mut self, words: usize) {
        self.room = words / 8 * FLOWS_PER_EIGHT_WORDS;
        self.layers.push(vec![0; words]);
    }

    /// Number of bytes allocated.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.layers.iter().map(|words| size_of_val(&words[..])).sum()
    }

    /// Whether `flow` was seen; does not record it.
    #[must_use]
    pub fn contains(&self, flow: u64) -> bool {
        let (position, bits) = spread(flow);
        self.layers
            .iter()
            .rev()
            .any(|words| words.get(index(position, words)).is_some_and(|w| w & bits == bits))
    }
}

/// Position of a flow, as a fraction of 2^32, and its bits within the word.
fn spread(flow: u64) -> (u64, u64) {
    // Two rounds of xor-shift and multiply (constants of the SplitMix64 finaliser, Steele et al. 2014).
    let mut mixed = (flow ^ (flow >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    let bits = (0..BITS_PER_FLOW).fold(0, |bits, i| bits | 1 << ((mixed >> (6 * i)) & 63));
    (mixed >> 32, bits)
}

fn index(position: u64, words: &[u64]) -> usize {
    ((position * words.len() as u64) >> 32) as usize
}

impl Arrivals for Seen {
    fn is_first(&mut self, flow: u64) -> bool {
        if self.contains(flow) {
            return false;
        }
        if self.room == 0 {
            self.add_layer(self.layers.last().map_or(WORDS_MIN, |words| 2 * words.len()));
        }
        self.room -= 1;
        let (position, bits) = spread(flow);
        if let Some(words) = self.layers.last_mut() {
            let at = index(position, words);
            if let Some(word) = words.get_mut(at) {
                *word |= bits;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_flows_are_recognised_and_new_ones_seldom_mistaken() {
        let mut seen = Seen::default();
        let key = |i: u64| i.wrapping_mul(0xd134_2543_de82_ef95);
        let mut mistaken = 0;
        for i in 0..300_000 {
            mistaken += u32::from(!seen.is_first(key(i)));
        }
        assert!((0..300_000).all(|i| seen.contains(key(i)) && !seen.is_first(key(i))));
        assert!(mistaken < 1500, "{mistaken} of 300000");
        assert!(seen.bytes() < 300_000 * 8, "{} bytes", seen.bytes());
    }
}
