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
        for (message, bands) in bands.chunks(PER_MESSAGE).enumerate() {
            let mut words = bands
                .chunks(PER_WORD)
                .map(|bands| bands.iter().rev().fold(0, |word, &band| word << BITS | u64::from(band)));
            let packet = Packet {
                kind: Kind::Probe,
                frame_bytes: FRAME_BYTES,
                payload_bytes: bands.len() as u16,
                tag: (message * PER_MESSAGE) as u32,
                sack: std::array::from_fn(|_| {
                    let word = words.next().unwrap_or(0);
                    SackBlock { start: word as u32, end: (word >> 32) as u32 }
                }),
                ..Packet::default()
            };
            network.send_probe(port, packet);
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
