//! What switches know of the links behind their neighbours, and the messages by which they tell each other.

use crate::ars::load::BEST;
use crate::ars::switch::Downstream;
use crate::switches::port_env::numbers;
use anabranch_fabric::{Fabric, LinkState, NextHops};
use anabranch_sim::{Kind, Network, Packet, SackBlock};

/// Links whose bands a message has, 21 in each of three words of 64 bits.
const PER_MESSAGE: usize = 3 * PER_WORD;
const PER_WORD: usize = 21;
/// Bits of a band.
const BITS: usize = 3;
/// Frame of a message: the least of Ethernet.
const FRAME_BYTES: u16 = 64;

/// Bands of the links behind each port.
pub(crate) struct Neighbours {
    fabric: Fabric,
    hops: NextHops,
    period_ns: u64,
    /// Number of each port among its switch's links to switches.
    number: Vec<u16>,
    /// Bands of the links of the switch behind each port, by their number there; empty before the first message.
    heard: Vec<Vec<u8>>,
}

impl Neighbours {
    pub(crate) fn new(fabric: &Fabric, period_ns: u64) -> Self {
        let hosts = fabric.hosts();
        let between = |port: u32| {
            let port = &fabric.ports()[port as usize];
            port.from >= hosts && port.to >= hosts
        };
        Self {
            hops: NextHops::shortest(fabric, &LinkState::of(fabric)),
            period_ns,
            number: numbers(fabric, between),
            heard: vec![Vec::new(); fabric.ports().len()],
            fabric: fabric.clone(),
        }
    }
}

/// Bands of links from number `first` on, at most [`PER_MESSAGE`].
fn message(first: usize, bands: &[u8]) -> Packet {
    let mut words = bands
        .chunks(PER_WORD)
        .map(|bands| bands.iter().rev().fold(0, |word, &band| word << BITS | u64::from(band)));
    Packet {
        kind: Kind::Probe,
        frame_bytes: FRAME_BYTES,
        payload_bytes: bands.len() as u16,
        tag: first as u32,
        sack: std::array::from_fn(|_| {
            let word = words.next().unwrap_or(0);
            SackBlock { start: word as u32, end: (word >> 32) as u32 }
        }),
        ..Packet::default()
    }
}

impl Downstream for Neighbours {
    fn period_ns(&self) -> Option<u64> {
        Some(self.period_ns)
    }

    /// The neighbour takes its best link; one that is a leaf itself, or was not heard of, is of the best band.
    fn band(&self, port: u32, leaf: u32) -> u8 {
        let heard = &self.heard[port as usize];
        let neighbour = self.fabric.ports()[port as usize].to;
        if heard.is_empty() || self.hops.leaves.get(leaf as usize) == Some(&neighbour) {
            return BEST;
        }
        let links = self.hops.ports(neighbour, leaf);
        let known = links.filter_map(|link| heard.get(usize::from(self.number[link as usize])));
        known.copied().max().unwrap_or(BEST)
    }

    fn tell(&self, port: u32, bands: &[u8], network: &mut Network) {
        for (number, bands) in bands.chunks(PER_MESSAGE).enumerate() {
            network.send_probe(port, message(number * PER_MESSAGE, bands));
        }
    }

    fn hear(&mut self, from: u32, message: &Packet) {
        let own = self.fabric.ports()[from as usize].reverse;
        let heard = &mut self.heard[own as usize];
        let (first, count) = (message.tag as usize, usize::from(message.payload_bytes));
        if heard.len() < first + count {
            heard.resize(first + count, BEST);
        }
        for (index, band) in heard[first..first + count].iter_mut().enumerate() {
            let SackBlock { start, end } = message.sack[index / PER_WORD];
            let word = u64::from(end) << 32 | u64::from(start);
            *band = (word >> (BITS * (index % PER_WORD))) as u8 & BEST;
        }
    }

    fn learn(&mut self, links: &LinkState) {
        self.hops = NextHops::shortest(&self.fabric, links);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests {
    use super::*;
    use anabranch_fabric::topology::LeafSpine;

    /// What a spine with 100 links says, in two messages, arrives as it was; the best link towards a leaf counts.
    #[test]
    fn bands_arrive_as_they_were_sent() {
        let fabric = LeafSpine::default().build().unwrap();
        let mut neighbours = Neighbours::new(&fabric, 1);
        let down = (0..).zip(fabric.ports()).find(|(_, port)| port.from == 36).unwrap().0;
        let up = fabric.ports()[down as usize].reverse;
        assert_eq!(neighbours.band(up, 3), BEST, "nothing was heard");
        let bands: Vec<u8> = (0..100).map(|link| (link * 5 % 8) as u8).collect();
        neighbours.hear(down, &message(0, &bands[..PER_MESSAGE]));
        neighbours.hear(down, &message(PER_MESSAGE, &bands[PER_MESSAGE..]));
        assert_eq!(neighbours.heard[up as usize], bands);
        // The spine has one link to each of the four leaves, in their order.
        let own = fabric.ports()[up as usize].from;
        for (leaf, &node) in (0..).zip(&neighbours.hops.leaves) {
            let expected = if node == own { None } else { Some(bands[leaf as usize]) };
            assert!(expected.is_none_or(|band| neighbours.band(up, leaf) == band), "leaf {leaf}");
        }
    }
}
