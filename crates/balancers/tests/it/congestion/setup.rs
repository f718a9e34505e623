//! Fabrics, flows and settings for all of them.

use anabranch_balancers::{Balancing, Scheme, Settings, simulate};
use anabranch_balancers::{conga, conweave, flowcut, hula};
use anabranch_fabric::capacity::Reference;
use anabranch_fabric::topology::{FatTree, LeafSpine};
use anabranch_fabric::{Change, Fabric, Rate, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Framing, Nic, Observe, Outcome, Progress};
use anabranch_traffic::load::Load;
use anabranch_traffic::sizes::{Convention, Published, Sizes};
use anabranch_traffic::workload::{Amount, Arrivals, Poisson, Workload};
use anabranch_traffic::{Flow, Pattern, Ports, Start};

pub(crate) const PS_PER_US: u64 = 1_000_000;

pub(crate) fn schemes() -> [Scheme; 4] {
    [
        Scheme::new(conga::pick::Parameters::default()),
        Scheme::new(hula::pick::Parameters::default()),
        Scheme::new(conweave::pick::Parameters::default()),
        Scheme::new(flowcut::pick::Parameters::default()),
    ]
}

/// Four leaves of four hosts, four spines, 10 Gbit/s everywhere.
pub(crate) fn leaf_spine() -> Fabric {
    LeafSpine { hosts_per_leaf: 4, ..LeafSpine::default() }.build().unwrap()
}

/// Four pods of two leaves and two aggregations, four cores, two hosts a leaf.
pub(crate) fn fat_tree() -> Fabric {
    FatTree::default().build().unwrap()
}

/// The port from one node to another.
pub(crate) fn port(fabric: &Fabric, from: &str, to: &str) -> u32 {
    let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
    let is = |port: &anabranch_fabric::Port| name(port.from) == from && name(port.to) == to;
    fabric.ports().iter().position(is).unwrap() as u32
}

pub(crate) fn settings(scheme: Scheme) -> Settings {
    Settings {
        seed: 1,
        balancing: Balancing { scheme, ..Balancing::ECMP },
        transports: vec![Transport::Tcp(Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }))],
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing::ETHERNET,
        changes: Vec::new(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: 2_000_000 * PS_PER_US,
        observe: Observe::default(),
    }
}

/// Web search between racks at a load of the uplinks as built.
pub(crate) fn web_search(fabric: &Fabric, load: f64, count: u64, seed: u64) -> Vec<Flow> {
    let sizes = Sizes::Cdf(Published::named("web-search").unwrap().cdf(Convention::Linear));
    let load = Load { fraction: load, reference: Reference::Uplink, capacity_bps: None };
    Workload::Poisson(Poisson {
        pattern: Pattern::InterRack,
        sizes,
        arrivals: Arrivals::Load(load),
        amount: Amount::Count(count),
        start_ps: 0,
        transport: 0,
    })
    .flows(fabric, seed)
    .unwrap()
}

pub(crate) fn flow(src: u32, dst: u32, size_bytes: u64, start_us: u64) -> Flow {
    let start = Start::At(start_us * PS_PER_US);
    Flow { src, dst, size_bytes, start, path: None, job: None, transport: 0, ports: Ports::CHOSEN }
}

/// Both directions of a link change at a time.
pub(crate) fn both(fabric: &Fabric, at_us: u64, link: u32, what: impl Fn(u32) -> What) -> [Change; 2] {
    let reverse = fabric.ports()[link as usize].reverse;
    [link, reverse].map(|port| Change { at_ps: at_us * PS_PER_US, what: what(port) })
}

pub(crate) fn gigabit() -> Rate {
    Rate::from_bps(1_000_000_000).unwrap()
}

/// Links that no packet needs more of, on any detour in these fabrics.
const HOPS_MAX: u64 = 12;

/// Runs, and checks that every packet is accounted for and none runs in circles.
pub(crate) fn run(fabric: &Fabric, flows: &[Flow], settings: &Settings) -> Outcome {
    let outcome = simulate(fabric, flows, settings, &Progress::default()).unwrap();
    let totals = outcome.totals;
    assert_eq!(
        totals.sent_packets,
        totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left,
        "{totals:?}"
    );
    assert!(totals.packet_hops <= HOPS_MAX * totals.sent_packets, "{totals:?}");
    outcome
}

/// Mean completion time in microseconds; all flows finished.
pub(crate) fn mean_fct_us(outcome: &Outcome) -> f64 {
    assert!(outcome.flows.iter().all(|flow| flow.fct_ps != u64::MAX), "{:?}", outcome.totals);
    let sum: f64 = outcome.flows.iter().map(|flow| flow.fct_ps as f64 / PS_PER_US as f64).sum();
    sum / outcome.flows.len() as f64
}

/// Bytes that left by a port.
pub(crate) fn sent_bytes(outcome: &Outcome, port: u32) -> u64 {
    outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_bytes).sum()
}

/// Which share of what leaf 0 sends up goes to spine 0, if the link of these nodes has a tenth of its rate.
pub(crate) fn share(scheme: Scheme, slow: (&str, &str)) -> f64 {
    share_among(scheme, slow, &[(0, 3), (3, 0)])
}

/// The same with flows between these leaves only: the one that sends, the one that receives.
pub(crate) fn share_among(scheme: Scheme, slow: (&str, &str), leaves: &[(u32, u32)]) -> f64 {
    let fabric = leaf_spine();
    let mut settings = settings(scheme);
    let link = port(&fabric, slow.0, slow.1);
    settings.changes = both(&fabric, 0, link, |port| What::PortRate(port, gigabit())).to_vec();
    let mut flows = web_search(&fabric, 0.4, 1200, 2);
    flows.retain(|flow| leaves.contains(&(flow.src / 4, flow.dst / 4)));
    let outcome = run(&fabric, &flows, &settings);
    let up: Vec<u64> =
        (0..4).map(|spine| sent_bytes(&outcome, port(&fabric, "leaf0", &format!("spine{spine}")))).collect();
    up[0] as f64 / up.iter().sum::<u64>() as f64
}
