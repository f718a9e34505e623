//! Builder that collects nodes and links one by one.

use crate::{Buffer, Fabric, FabricError, Marking, Node, Port, Rate, Tier};

/// Largest number of nodes: a larger fabric would not fit into memory.
const NODES_MAX: u128 = 1 << 20;
/// Largest number of links, for the same reason: twice what a fat-tree of 128-port switches has without its hosts.
const LINKS_MAX: u128 = 1 << 21;

/// Settings of a link, or of one direction of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSettings {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay from one end to the other, in picoseconds.
    pub delay_ps: u64,
    /// Room for waiting frames at each end that is a switch. Frames of a host wait in its own port without limit, as
    /// Linux holds back what its own queue cannot take.
    pub buffer: Buffer,
    /// Rule by which a switch marks frames.
    pub marking: Marking,
}

impl Default for LinkSettings {
    /// Settings of the Luopan paper's fabric: 10 Gbit/s, 1 us, 300 KB; and DCTCP's threshold: marked from 65 packets
    /// on.
    fn default() -> Self {
        let rate = const { Rate::from_bps(10_000_000_000).expect("a rate in range") };
        Self {
            rate,
            delay_ps: 1_000_000,
            buffer: Buffer { bytes: 300_000, packets: u32::MAX },
            marking: Marking::Step { bytes: u32::MAX, packets: 65 },
        }
    }
}

/// Builder that collects nodes and links.
#[derive(Default)]
pub(crate) struct Builder {
    nodes: Vec<Node>,
    ports: Vec<Port>,
}

impl Builder {
    /// Prepares for a number of nodes and links.
    ///
    /// # Errors
    /// Refuses too many of them, and a count of zero among `counts`, which it names by its key.
    pub(crate) fn new(counts: &[(&'static str, u32)], nodes: u128, links: u128) -> Result<Self, FabricError> {
        if let Some(&(key, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(FabricError::new(key, "0", "give at least 1"));
        }
        for (number, most, what) in [(nodes, NODES_MAX, "nodes"), (links, LINKS_MAX, "links")] {
            if number > most {
                return Err(FabricError::new(
                    None,
                    format!("{number} {what}"),
                    format!("build one of at most {most} {what}"),
                ));
            }
        }
        Ok(Self::default())
    }

    /// Adds a node and returns its number.
    pub(crate) fn node(&mut self, name: String, tier: Tier, pod: Option<u32>) -> u32 {
        self.nodes.push(Node { name, tier, pod });
        self.nodes.len() as u32 - 1
    }

    /// Adds a link with equal directions.
    pub(super) fn link(&mut self, a: u32, b: u32, settings: &LinkSettings) {
        self.duplex(a, b, settings, settings);
    }

    /// Adds a link with equal directions and its cost to routing.
    pub(super) fn link_of_cost(&mut self, a: u32, b: u32, settings: &LinkSettings, cost: u32) {
        let first = self.ports.len();
        self.link(a, b, settings);
        self.ports[first..].iter_mut().for_each(|port| port.cost = cost);
    }

    /// Adds a link with the directions `a` to `b` and back.
    pub(crate) fn duplex(&mut self, a: u32, b: u32, forth: &LinkSettings, back: &LinkSettings) {
        let first = self.ports.len() as u32;
        for (from, to, reverse, settings) in [(a, b, first + 1, forth), (b, a, first, back)] {
            let at_host = self.nodes[from as usize].tier == Tier::Host;
            self.ports.push(Port {
                from,
                to,
                reverse,
                rate: settings.rate,
                delay_ps: settings.delay_ps,
                cost: 1,
                buffer: if at_host { Buffer::UNLIMITED } else { settings.buffer },
                marking: if at_host { Marking::Off } else { settings.marking },
            });
        }
    }

    /// Links a host to its network card, by a link as fast as the card's ports together, so that nothing waits there but
    /// for its own frame.
    ///
    /// # Errors
    /// Refuses ports that are together faster than links can be, by the key and what stands there.
    pub(crate) fn card(
        &mut self,
        host: u32,
        card: u32,
        ports: impl Iterator<Item = Rate>,
        (key, value): (Option<&'static str>, &str),
    ) -> Result<(), FabricError> {
        let sum = ports.map(Rate::bps).fold(0, u64::saturating_add);
        let rate = Rate::from_bps(sum).ok_or_else(|| {
            FabricError::new(
                key,
                format!("{value}: the links of a host carry {sum} bps together"),
                format!("they can have {} bps in all", Rate::MOST_BPS),
            )
        })?;
        let settings = LinkSettings { rate, delay_ps: 0, buffer: Buffer::UNLIMITED, marking: Marking::Off };
        self.link(host, card, &settings);
        Ok(())
    }

    /// Builds the fabric.
    pub(crate) fn build(self) -> Result<Fabric, FabricError> {
        Fabric::new(self.nodes, self.ports)
    }
}
