//! Decisions of SAPS; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::capability;
use anabranch_split::picks::FlowCycle;

/// Virtual topology: a section of a list of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Position of its first path in the list.
    pub first: u16,
    /// Number of its paths.
    pub len: u16,
    /// Upper end of its draws: draws of 32 bits below this, and not below the ceiling of the topology before, choose
    /// it. The last has [`u32::MAX`], which chooses it as well.
    pub ceiling: u32,
}

/// Spraying of the packets of one flow over paths in turn.
pub type Spraying<C, M> = FlowCycle<C, M>;

/// Parameters of hosts, besides the topologies.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Flows of more bytes are long. The Wino paper uses 100 KB for web search and 1000 KB for data mining (its Table
    /// I).
    pub threshold_bytes: u64,
    /// Silence after which a flow's turn is forgotten, in nanoseconds.
    pub idle_ns: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { threshold_bytes: 100_000, idle_ns: 100_000_000 }
    }
}

impl Parameters {
    /// Bits of [`capability`] that it needs.
    #[must_use]
    pub const fn needs(&self) -> u32 {
        capability::CLOCK | capability::RANDOM | capability::TAG
    }

    /// Topology of a flow: the first, which has the most bandwidth, if it is long; else the one that its draw of 32
    /// random bits chooses. `None` if there is none.
    #[inline(always)]
    #[must_use]
    pub fn topology<'a>(
        &self,
        topologies: &'a [Topology],
        size_bytes: u64,
        draw: u32,
    ) -> Option<&'a Topology> {
        if size_bytes > self.threshold_bytes {
            return topologies.first();
        }
        topologies.iter().find(|topology| draw < topology.ceiling).or(topologies.last())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Topologies of 600 Mbit/s on one path and 200 on each of two: draws choose them 3 : 2.
    fn topologies() -> [Topology; 2] {
        let ceiling = (u64::from(u32::MAX) * 6 / 10) as u32;
        [Topology { first: 0, len: 1, ceiling }, Topology { first: 1, len: 2, ceiling: u32::MAX }]
    }

    #[test]
    fn long_flows_take_the_strongest_and_short_ones_draw() {
        let parameters = Parameters::default();
        let topologies = topologies();
        let first = |size, draw| parameters.topology(&topologies, size, draw).map(|topology| topology.first);
        assert_eq!(first(100_001, u32::MAX), Some(0));
        assert_eq!(first(100_000, u32::MAX), Some(1));
        assert_eq!(first(1, 0), Some(0));
        let drawn = (0..1000u32).filter(|i| first(1, i * (u32::MAX / 1000)) == Some(0)).count();
        assert!((599..=601).contains(&drawn), "{drawn}");
        assert_eq!(parameters.topology(&[], 1, 0), None);
    }
}
