//! ClassBench-like headers, such as a classifier at the edge of an Internet provider sees.
//!
//! After Taylor and Turner, "ClassBench: A Packet Classification Benchmark", IEEE/ACM Transactions on Networking
//! 15(3), 2007. Modelled: a filter set whose source and destination prefixes are paths through binary trees with a
//! branching probability and a skew per level, classes of port pairs, a mix of protocols, and headers drawn from the
//! filters with wildcards filled in evenly. Not modelled: the published seeds (every number below is our own),
//! correlation of source and destination, arbitrary port ranges, scope adjustment, and the Pareto repetition of
//! headers: here every header is one connection.

use super::Endpoints;
use crate::random::{Stream, unit};
use anabranch_split::{FiveTuple, protocol};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const FILTERS: usize = 4096;
/// Largest number of connections: a hundredth of what filters with a wildcard port can give.
pub(super) const CONNECTIONS_MAX: u64 = 1 << 21;

/// Share of nodes with two children, for each byte of an address.
const BRANCHING: [f64; 4] = [0.7, 0.6, 0.5, 0.4];
/// One minus the ratio of the lighter to the heavier subtree, for each byte of an address.
const SKEW: [f64; 4] = [0.5, 0.4, 0.4, 0.6];
/// Prefix lengths of sources and destinations, with weights.
const SOURCE_LENGTHS: [(u8, u32); 6] = [(0, 20), (8, 5), (16, 15), (20, 10), (24, 30), (32, 20)];
const DESTINATION_LENGTHS: [(u8, u32); 5] = [(0, 5), (16, 10), (24, 25), (28, 10), (32, 50)];
const PROTOCOLS: [(u8, u32); 4] =
    [(protocol::TCP, 75), (protocol::UDP, 20), (protocol::ICMP, 4), (protocol::SCTP, 1)];

/// Condition of a filter on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortClass {
    /// WC: any port.
    Wildcard,
    /// HI: ports 1024 to 65535.
    High,
    /// LO: ports 0 to 1023.
    Low,
    /// EM: one well-known port.
    Exact,
}

use PortClass::{Exact, High, Low, Wildcard};

/// Classes of source and destination port together, with weights.
const PORT_PAIRS: [(PortClass, PortClass, u32); 7] = [
    (Wildcard, Exact, 50),
    (High, Exact, 20),
    (Wildcard, Wildcard, 12),
    (Wildcard, High, 8),
    (Wildcard, Low, 4),
    (Exact, High, 3),
    (Exact, Exact, 3),
];
const WELL_KNOWN: [(u16, u32); 10] =
    [(443, 30), (80, 25), (53, 15), (25, 6), (22, 6), (123, 5), (3389, 4), (1521, 3), (5060, 3), (8080, 3)];

/// Tree of prefixes that is never stored: a node's children follow from a hash of its path.
#[derive(Debug)]
struct PrefixTree {
    seed: u64,
}

impl PrefixTree {
    /// Descends `length` levels; the heavier child gets `1 / (2 - skew)` of a branching node's draws.
    fn draw(&self, length: u8, stream: &mut Stream) -> u32 {
        let mut prefix = 0;
        for level in 0..length {
            let byte = usize::from(level / 8);
            let [a, b, c, d] = u32::to_be_bytes(prefix);
            let node = xxh3_64_with_seed(&[a, b, c, d, level], self.seed);
            let heavier = (node & 1) as u32;
            let lighter = unit(node) < BRANCHING[byte] && stream.unit() >= 1.0 / (2.0 - SKEW[byte]);
            let bit = heavier ^ u32::from(lighter);
            prefix |= bit << (31 - level);
        }
        prefix
    }
}

#[derive(Debug)]
struct Prefix {
    bits: u32,
    length: u8,
}

impl Prefix {
    /// Draws an address under the prefix; its free bits are uniform.
    fn fill(&self, stream: &mut Stream) -> [u8; 4] {
        let free = u32::MAX.checked_shr(u32::from(self.length)).unwrap_or(0);
        (self.bits | (stream.bits() as u32 & free)).to_be_bytes()
    }
}

#[derive(Debug)]
struct Filter {
    source: Prefix,
    destination: Prefix,
    protocol: u8,
    /// First port and number of ports, for source and destination.
    ports: [(u16, u64); 2],
}

impl Filter {
    fn draw(trees: &[PrefixTree; 2], stream: &mut Stream) -> Self {
        let [source, destination] = [(&trees[0], &SOURCE_LENGTHS[..]), (&trees[1], &DESTINATION_LENGTHS[..])]
            .map(|(tree, lengths)| {
                let &(length, _) = stream.weighted(lengths, |row| row.1);
                Prefix { bits: tree.draw(length, stream), length }
            });
        let &(protocol, _) = stream.weighted(&PROTOCOLS, |row| row.1);
        let &(from, to, _) = stream.weighted(&PORT_PAIRS, |row| row.2);
        let ports = [from, to].map(|class| match class {
            Wildcard => (0, 65_536),
            High => (1024, 65_536 - 1024),
            Low => (0, 1024),
            Exact => (stream.weighted(&WELL_KNOWN, |row| row.1).0, 1),
        });
        let ports = if protocol == protocol::ICMP { [(0, 1); 2] } else { ports };
        Self { source, destination, protocol, ports }
    }
}

#[derive(Debug)]
pub(super) struct ClassBench {
    filters: Vec<Filter>,
    stream: Stream,
}

impl ClassBench {
    pub(super) fn new(seed: u64) -> Self {
        let mut stream = Stream::new(seed, "classbench filters");
        let trees = [PrefixTree { seed: stream.bits() }, PrefixTree { seed: stream.bits() }];
        let filters = (0..FILTERS).map(|_| Filter::draw(&trees, &mut stream)).collect();
        Self { filters, stream: Stream::new(seed, "classbench headers") }
    }
}

impl Endpoints for ClassBench {
    fn draw(&mut self) -> FiveTuple {
        let filter = &self.filters[self.stream.below(FILTERS as u64) as usize];
        let source = filter.source.fill(&mut self.stream);
        let destination = filter.destination.fill(&mut self.stream);
        let [sport, dport] = filter.ports.map(|(first, count)| first + self.stream.below(count) as u16);
        FiveTuple::v4(source, destination, filter.protocol, sport, dport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_match_their_filters() {
        let mut stream = Stream::new(1, "test of prefixes");
        for (length, low, high) in [(0, 0, u32::MAX), (24, 0x0a01_0200, 0x0a01_02ff), (32, 7, 7)] {
            let prefix = Prefix { bits: low, length };
            let mut seen = [u32::MAX, 0];
            for _ in 0..5000 {
                let address = u32::from_be_bytes(prefix.fill(&mut stream));
                assert!((low..=high).contains(&address));
                seen = [seen[0].min(address), seen[1].max(address)];
            }
            // Both ends of the range are reached, within a hundredth.
            let width = u64::from(high - low);
            assert!(u64::from(seen[1] - seen[0]) >= width - width / 100);
        }
    }

    #[test]
    fn a_branching_node_has_the_skew_asked() {
        let mut stream = Stream::new(2, "test of skew");
        let tree = (0..)
            .map(|seed| PrefixTree { seed })
            .find(|tree| unit(xxh3_64_with_seed(&[0; 5], tree.seed)) < BRANCHING[0]);
        let tree = tree.unwrap();
        let n = 100_000.0;
        let ones = (0..100_000).filter(|_| tree.draw(1, &mut stream) != 0).count() as f64;
        let (heavy, light) = (ones.max(n - ones), ones.min(n - ones));
        // Standard error of a ratio near one half: 0.0024.
        assert!((1.0 - light / heavy - SKEW[0]).abs() < 0.01, "{ones}");
    }

    #[test]
    fn prefixes_cluster_as_branching_says() {
        // Nodes at depth d number (1 + branching)^d on average: 1.7^8 = 70 of 256 first bytes.
        let mut stream = Stream::new(3, "test of branching");
        let mean = (0..200)
            .map(|seed| {
                let tree = PrefixTree { seed };
                let firsts: std::collections::BTreeSet<u32> =
                    (0..4000).map(|_| tree.draw(8, &mut stream) >> 24).collect();
                firsts.len() as f64
            })
            .sum::<f64>()
            / 200.0;
        assert!((60.0..75.0).contains(&mean), "{mean}");
    }
}
