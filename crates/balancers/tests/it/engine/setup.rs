//! Small fabrics and plain settings.

use anabranch_balancers::{Balancing, Settings, simulate};
use anabranch_fabric::{Buffer, Fabric, Marking, Node, Port, Rate, Tier};
use anabranch_sim::transport::{Transport, Udp};
use anabranch_sim::{Framing, Nic, Observe, Outcome, Progress};
use anabranch_traffic::{Flow, Ports, Start};

pub(crate) const PS_PER_US: u64 = 1_000_000;

/// One direction of a link.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) rate_bps: u64,
    pub(crate) delay_ps: u64,
    pub(crate) buffer: Buffer,
    pub(crate) marking: Marking,
}

/// 10 Gbit/s, 1 us, endless buffers: a byte takes 800 ps.
pub(crate) const TEN_GIG: Link =
    Link { rate_bps: 10_000_000_000, delay_ps: PS_PER_US, buffer: Buffer::UNLIMITED, marking: Marking::Off };

/// Leaves and spines, fully meshed; hosts `leaf * hosts_per_leaf ..`. Ports: host h's is 2h, its leaf's towards it
/// 2h + 1; leaf l's towards spine s is `2 * hosts + 2 * (l * spines + s)`, the spine's towards the leaf the next.
pub(crate) fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32, link: Link) -> Fabric {
    let hosts = leaves * hosts_per_leaf;
    let mut nodes = Vec::new();
    for (tier, count, name) in
        [(Tier::Host, hosts, "host"), (Tier::Leaf, leaves, "leaf"), (Tier::Spine, spines, "spine")]
    {
        nodes.extend((0..count).map(|i| Node { name: format!("{name}{i}"), tier, pod: None }));
    }
    let up = (0..leaves).flat_map(|l| (0..spines).map(move |s| (hosts + l, hosts + leaves + s)));
    let links = (0..hosts).map(|h| (h, hosts + h / hosts_per_leaf)).chain(up);
    fabric(nodes, &links.collect::<Vec<_>>(), link)
}

/// Links between nodes; number i has the ports 2i and 2i + 1.
pub(crate) fn fabric(nodes: Vec<Node>, links: &[(u32, u32)], link: Link) -> Fabric {
    let mut ports: Vec<Port> = Vec::new();
    for &(a, b) in links {
        let first = ports.len() as u32;
        for (from, to, reverse) in [(a, b, first + 1), (b, a, first)] {
            let Link { rate_bps, delay_ps, buffer, marking } = link;
            let rate = Rate::from_bps(rate_bps).unwrap();
            ports.push(Port { from, to, reverse, rate, delay_ps, cost: 1, buffer, marking });
        }
    }
    Fabric::new(nodes, ports).unwrap()
}

/// The port from leaf `l` up to spine `s`.
pub(crate) fn uplink(leaves: u32, spines: u32, hosts_per_leaf: u32, l: u32, s: u32) -> u32 {
    2 * leaves * hosts_per_leaf + 2 * (l * spines + s)
}

pub(crate) fn udp(rate_bps: u64) -> Transport {
    Transport::Udp(Udp { rate: Rate::from_bps(rate_bps).unwrap(), payload_bytes_max: None })
}

pub(crate) fn settings(transport: Transport) -> Settings {
    Settings {
        seed: 1,
        balancing: Balancing::ECMP,
        transports: vec![transport],
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing::ETHERNET,
        changes: Vec::new(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: u64::MAX,
        observe: Observe::default(),
    }
}

pub(crate) fn flow(src: u32, dst: u32, size_bytes: u64, start_ps: u64) -> Flow {
    Flow {
        src,
        dst,
        size_bytes,
        start: Start::At(start_ps),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    }
}

pub(crate) fn run(fabric: &Fabric, flows: &[Flow], settings: &Settings) -> Outcome {
    simulate(fabric, flows, settings, &Progress::default()).unwrap()
}
