//! Small CONGA: leaves send each new flowlet by the uplink whose path is least congested, as packets report it.
//!
//! It uses the door of switches, [`SwitchBalancer`], and nothing that a crate outside the tree could not use.

use anabranch_balancers::{
    Build, Decider, DefaultWeights, Descriptor, LoadBalancer, Runs, Scheme, Settings, Task,
};
use anabranch_fabric::Fabric;
use anabranch_sim::{
    Choice, GroupPlan, Junction, Network, Outcome, PacketId, SimulationError, SwitchBalancer,
};
use anabranch_split::{PlanError, capability};
use std::collections::BTreeMap;

/// Registry entry, so that results and messages can name it.
static SMALL_CONGA: Descriptor = Descriptor {
    name: "small-conga",
    granularity: "flowlet",
    decider: Decider::Leaves,
    page: "# Small CONGA\n\nFlowlets take the least congested uplink.\n",
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(SmallConga::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SmallConga {
    /// Longest pause within a flowlet, in nanoseconds.
    gap_ns: u64,
    /// Time in which a link's load falls to half, in nanoseconds.
    half_life_ns: u64,
    /// Age at which reports count as nothing, in nanoseconds.
    age_ns: u64,
}

impl Default for SmallConga {
    fn default() -> Self {
        Self { gap_ns: 100_000, half_life_ns: 100_000, age_ns: 10_000_000 }
    }
}

impl LoadBalancer for SmallConga {
    fn descriptor(&self) -> &'static Descriptor {
        &SMALL_CONGA
    }

    fn needs(&self) -> u32 {
        capability::CLOCK | capability::TAG | capability::FEEDBACK
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        task.run(|| Ok(Switches::new(self.clone(), task.fabric, task.settings)), None)
    }
}

/// Level of congestion, from 1 to [`LEVEL_MAX`]; zero stands for no report.
type Level = u8;
const LEVEL_MAX: u64 = 15;

/// Header that travels in the tag of a packet. A level of zero means that the packet has none.
#[derive(Clone, Copy, Default)]
struct Header {
    leaf: u8,
    uplink: u8,
    level: Level,
    /// Report for the leaf that the packet goes to: one of its uplinks, and the level of the path behind it.
    report: (u8, Level),
}

impl Header {
    fn pack(self) -> u32 {
        u32::from_le_bytes([self.leaf, self.uplink, self.report.0, self.level << 4 | self.report.1])
    }

    fn unpack(tag: u32) -> Self {
        let [leaf, uplink, reported, levels] = tag.to_le_bytes();
        Self { leaf, uplink, level: levels >> 4, report: (reported, levels & 0xf) }
    }
}

/// State of one leaf. Reports are keyed by the other leaf and the uplink.
#[derive(Default)]
struct Leaf {
    /// Ports to spines; the position of a port is the number of the uplink.
    uplinks: Vec<u32>,
    /// Levels of the paths to other leaves by own uplinks, and when they were heard.
    to: BTreeMap<(u32, u8), (Level, u64)>,
    /// Levels of the paths from other leaves by theirs, to be reported back in turn.
    from: BTreeMap<(u32, u8), Level>,
    /// Last uplink reported to each leaf.
    reported: BTreeMap<u32, u8>,
    /// Port and time of the last packet of each flow.
    flowlets: BTreeMap<(u32, u32), (u32, u64)>,
}

impl Leaf {
    /// Next report to another leaf, in rotation.
    fn report(&mut self, other: u32) -> (u8, Level) {
        let last = self.reported.get(&other).copied().unwrap_or(u8::MAX);
        let reports = || self.from.range((other, 0)..=(other, u8::MAX));
        let next = reports().find(|((_, uplink), _)| last == u8::MAX || *uplink > last);
        let Some((&(_, uplink), &level)) = next.or_else(|| reports().next()) else { return (0, 0) };
        self.reported.insert(other, uplink);
        (uplink, level)
    }
}

/// All switches of a fabric.
struct Switches {
    parameters: SmallConga,
    /// By switch: its number as a leaf.
    leaf_of: Vec<Option<u8>>,
    leaves: Vec<Leaf>,
    /// By port: load in bytes, and when it was counted. Ports to hosts have none.
    loads: Vec<Option<(u64, u64)>>,
    /// By group: the weights of its members.
    groups: Vec<Box<[u64]>>,
    salt: u32,
    flowlets_begun: u64,
}

impl Switches {
    fn new(parameters: SmallConga, fabric: &Fabric, settings: &Settings) -> Self {
        let hosts = fabric.hosts();
        let between = |&port: &u32| fabric.ports()[port as usize].to >= hosts;
        let mut nodes: Vec<u32> = (0..hosts).map(|host| fabric.leaf_of(host)).collect();
        nodes.dedup();
        let mut leaf_of = vec![None; fabric.nodes().len() - hosts as usize];
        let mut leaves = Vec::new();
        for &node in &nodes {
            leaf_of[(node - hosts) as usize] = Some(leaves.len() as u8);
            let uplinks = fabric.ports_of(node).iter().copied().filter(between).collect();
            leaves.push(Leaf { uplinks, ..Leaf::default() });
        }
        let loads = fabric.ports().iter().map(|port| (port.from.min(port.to) >= hosts).then_some((0, 0)));
        let (loads, salt) = (loads.collect(), anabranch_sim::salt(settings.seed, 0));
        Self { parameters, leaf_of, leaves, loads, groups: Vec::new(), salt, flowlets_begun: 0 }
    }

    /// Load of a port now, in bytes that count half after each half-life.
    fn load(&self, port: u32, now_ns: u64) -> u64 {
        let (bytes, counted_ns) = self.loads[port as usize].unwrap_or_default();
        let lives = (now_ns - counted_ns) as f64 / self.parameters.half_life_ns as f64;
        (bytes as f64 * (-lives).exp2()) as u64
    }

    /// Level of a port now: its load in parts of what its link can carry in twice the half-life.
    fn level(&self, port: u32, network: &Network) -> Level {
        let full = network.rate_bps(port) / 8 * 2 * self.parameters.half_life_ns / 1_000_000_000;
        (1 + self.load(port, network.now_ns()) * LEVEL_MAX / full.max(1)).min(LEVEL_MAX) as u8
    }
}

impl SwitchBalancer for Switches {
    const DEPARTS: bool = true;
    const DELIVERS: bool = true;

    /// Remembers which members of a group may be used.
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let group = asked.group as usize;
        self.groups.resize(self.groups.len().max(group + 1), Box::default());
        self.groups[group] = asked.weights.into();
        Ok(())
    }

    /// A leaf chooses for the first packet of a flowlet and writes the header; the rest of the flowlet follows.
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let now_ns = network.now_ns();
        let packet = *network.packet(id);
        let usable: Vec<usize> =
            (0..at.ports.len()).filter(|&member| self.groups[at.group as usize][member] > 0).collect();
        let hashed = (packet.entropy ^ self.salt) as usize;
        let own = self.leaf_of[at.switch as usize].filter(|_| Header::unpack(packet.tag).level == 0);
        let Some(own) = own else { return Choice::Member(usable[hashed % usable.len()] as u16) };

        let uplink_of = |leaf: &Leaf, port| leaf.uplinks.iter().position(|&own| own == port).unwrap_or(0);
        let leaf = &self.leaves[usize::from(own)];
        let flow = (packet.connection, packet.entropy);
        let last = leaf.flowlets.get(&flow).filter(|(_, ns)| now_ns - ns <= self.parameters.gap_ns);
        let kept = last.and_then(|(port, _)| usable.iter().copied().find(|&m| at.ports[m] == *port));
        let member = kept.unwrap_or_else(|| {
            let level = |member: usize| {
                let port = at.ports[member];
                let heard = leaf.to.get(&(at.leaf, uplink_of(leaf, port) as u8));
                let fresh = heard.filter(|(_, ns)| now_ns - ns <= self.parameters.age_ns);
                self.level(port, network).max(fresh.map_or(0, |(level, _)| *level))
            };
            // Equal ones share by hash: the search begins at another member for each flow.
            let turned = (0..usable.len()).map(|step| usable[(hashed + step) % usable.len()]);
            turned.min_by_key(|&member| level(member)).unwrap_or(0)
        });
        self.flowlets_begun += u64::from(kept.is_none());
        let leaf = &mut self.leaves[usize::from(own)];
        leaf.flowlets.insert(flow, (at.ports[member], now_ns));
        let uplink = uplink_of(leaf, at.ports[member]) as u8;
        let header = Header { leaf: own, uplink, level: 1, report: leaf.report(at.leaf) };
        network.packet(id).tag = header.pack();
        Choice::Member(member as u16)
    }

    /// Counts the packet as load of the link, and raises the level in its header to that of the link.
    fn depart(&mut self, _switch: u32, port: u32, id: PacketId, network: &mut Network) {
        if self.loads[port as usize].is_none() {
            return;
        }
        let now_ns = network.now_ns();
        let bytes = u64::from(network.packet(id).frame_bytes);
        self.loads[port as usize] = Some((self.load(port, now_ns) + bytes, now_ns));
        let level = self.level(port, network);
        let packet = network.packet(id);
        let header = Header::unpack(packet.tag);
        if header.level > 0 {
            packet.tag = Header { level: header.level.max(level), ..header }.pack();
        }
    }

    /// A leaf learns from a packet for one of its hosts: the level of the packet's path, and the report it brings.
    fn deliver(&mut self, switch: u32, _port: u32, id: PacketId, network: &mut Network) -> bool {
        let header = Header::unpack(network.packet(id).tag);
        if let Some(own) = self.leaf_of[switch as usize].filter(|_| header.level > 0) {
            let leaf = &mut self.leaves[usize::from(own)];
            leaf.from.insert((header.leaf.into(), header.uplink), header.level);
            let (uplink, level) = header.report;
            if level > 0 {
                leaf.to.insert((header.leaf.into(), uplink), (level, network.now_ns()));
            }
        }
        true
    }

    /// Flowlets leave ports that died.
    fn ports_changed(&mut self, switch: u32, ports: &[u32], network: &mut Network) {
        if let Some(leaf) = self.leaf_of[switch as usize] {
            let leaf = &mut self.leaves[usize::from(leaf)];
            leaf.flowlets.retain(|_, (port, _)| !ports.contains(port) || network.is_up(*port));
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("flowlets begun", self.flowlets_begun)]
    }
}
