//! Load balancers of one's own behind both doors, as a crate outside the tree writes them.
//!
//! `small_conga.rs` and `small_plb.rs` are there to be copied; the guide `docs/own-scheme.md` explains them. A program of
//! its own, because `anabranch schemes new --door` takes them from this folder, and they need nothing beside it.

#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod small_conga;
mod small_plb;

use anabranch_balancers::{Balancing, Scheme, Settings, Task, registry, simulate};
use anabranch_fabric::topology::LeafSpine;
use anabranch_fabric::{Change, Fabric, Rate, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Framing, Nic, Observe, Outcome, Partition, Progress};
use anabranch_traffic::{Flow, Ports, Start};
use small_conga::SmallConga;
use small_plb::SmallPlb;

const PS_PER_US: u64 = 1_000_000;

/// Four leaves of four hosts and four spines, 10 Gbit/s everywhere.
fn leaf_spine() -> Fabric {
    LeafSpine { hosts_per_leaf: 4, ..LeafSpine::default() }.build().unwrap()
}

fn port(fabric: &Fabric, from: &str, to: &str) -> u32 {
    let name = |node: u32| fabric.nodes()[node as usize].name.as_str();
    fabric.ports().iter().position(|port| name(port.from) == from && name(port.to) == to).unwrap() as u32
}

/// Flows of 4 MB from leaf 0 to leaf 3 and back, a quarter of what their uplinks can carry.
fn flows() -> Vec<Flow> {
    let flow = |number: u32| {
        let (near, far) = (number % 4, 12 + number / 4 % 4);
        let (src, dst) = if number.is_multiple_of(2) { (near, far) } else { (far, near) };
        let start = Start::At(u64::from(number) * 2_000 * PS_PER_US);
        Flow {
            src,
            dst,
            size_bytes: 4_000_000,
            start,
            path: None,
            job: None,
            transport: 0,
            ports: Ports::CHOSEN,
        }
    };
    (0..100).map(flow).collect()
}

/// Settings under which the link from spine 0 to leaf 3 has a tenth of its rate, in both directions.
fn one_slow_link(fabric: &Fabric, balancing: Balancing) -> Settings {
    let link = port(fabric, "spine0", "leaf3");
    let rate = Rate::from_bps(1_000_000_000).unwrap();
    let slow = |port| Change { at_ps: 0, what: What::PortRate(port, rate) };
    Settings {
        seed: 1,
        balancing,
        transports: vec![Transport::Tcp(Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }))],
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing::ETHERNET,
        changes: vec![slow(link), slow(fabric.ports()[link as usize].reverse)],
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: u64::MAX,
        observe: Observe::default(),
    }
}

fn own(scheme: Scheme) -> Balancing {
    Balancing { scheme, ..Balancing::ECMP }
}

/// Runs, and checks that every flow finishes and every packet is accounted for.
fn run(fabric: &Fabric, settings: &Settings) -> Outcome {
    let outcome = simulate(fabric, &flows(), settings, &Progress::default()).unwrap();
    assert!(outcome.flows.iter().all(|flow| flow.fct_ps != u64::MAX), "{:?}", outcome.totals);
    let totals = outcome.totals;
    assert_eq!(
        totals.sent_packets,
        totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left
    );
    outcome
}

/// Bytes that crossed the slow link towards leaf 3.
fn slow_bytes(fabric: &Fabric, outcome: &Outcome) -> u64 {
    let slow = port(fabric, "spine0", "leaf3");
    outcome.ports.iter().filter(|record| record.port == slow).map(|record| record.sent_bytes).sum()
}

/// Flows that take more than 16 ms: the slow link needs 32 ms for one that has it to itself, the others 4 ms.
fn stuck(outcome: &Outcome) -> usize {
    outcome.flows.iter().filter(|flow| flow.fct_ps > 16_000 * PS_PER_US).count()
}

#[test]
fn a_small_conga_leaves_the_slow_link() {
    let fabric = leaf_spine();
    let of = |balancing| slow_bytes(&fabric, &run(&fabric, &one_slow_link(&fabric, balancing)));
    let (ecmp, conga) = (of(Balancing::ECMP), of(own(Scheme::new(SmallConga::default()))));
    assert!(conga * 3 < ecmp, "{conga} bytes instead of {ecmp}");
}

#[test]
fn a_small_plb_leaves_fewer_flows_on_the_slow_link() {
    let fabric = leaf_spine();
    let of = |balancing| stuck(&run(&fabric, &one_slow_link(&fabric, balancing)));
    let (ecmp, plb) = (of(Balancing::ECMP), of(own(Scheme::new(SmallPlb::default()))));
    assert!(ecmp >= 15 && plb * 2 < ecmp, "{plb} flows instead of {ecmp}");
}

/// A sweep is a list of settings: one's own beside those of the registry, over the same flows.
#[test]
fn both_run_in_a_sweep_beside_the_house_and_every_run_repeats() {
    let fabric = leaf_spine();
    let house = ["ecmp", "conga", "plb"].map(|name| registry::find(name).unwrap().balancing());
    let own = [own(Scheme::new(SmallConga::default())), own(Scheme::new(SmallPlb::default()))];
    let mut times = Vec::new();
    for balancing in house.into_iter().chain(own) {
        let settings = one_slow_link(&fabric, balancing);
        let (one, two) = (run(&fabric, &settings), run(&fabric, &settings));
        assert_eq!((&one.flows, one.totals, &one.counts), (&two.flows, two.totals, &two.counts));
        times.push(one.flows.iter().map(|flow| flow.fct_ps).sum::<u64>());
    }
    times.sort_unstable();
    times.dedup();
    assert_eq!(times.len(), 5, "each of them decides differently");
}

/// An uplink dies under traffic, and comes back.
#[test]
fn both_survive_a_failure() {
    let fabric = leaf_spine();
    let uplink = port(&fabric, "leaf0", "spine1");
    for scheme in [Scheme::new(SmallConga::default()), Scheme::new(SmallPlb::default())] {
        let mut settings = one_slow_link(&fabric, own(scheme));
        settings.routing_delay_ps = 1_000 * PS_PER_US;
        for (at_us, what) in [(20_300, What::PortDown(uplink)), (90_000, What::PortUp(uplink))] {
            settings.changes.push(Change { at_ps: at_us * PS_PER_US, what });
        }
        let name = settings.balancing.scheme.get().unwrap().descriptor().name;
        let outcome = run(&fabric, &settings);
        let counted = outcome.counts.iter().any(|&(what, count)| {
            matches!((name, what), ("small-conga", "flowlets begun") | ("small-plb", "moves of flows"))
                && count > 0
        });
        assert!(counted, "{name}: {:?}", outcome.counts);
    }
}

/// What one value shared among switches or hosts would differ where each of them has a value of its own.
#[test]
fn both_keep_their_state_by_switch_and_host() {
    let (fabric, flows, progress) = (leaf_spine(), flows(), Progress::default());
    let switches = fabric.nodes().len() as u32 - fabric.hosts();
    let apart = Partition::new((0..switches).collect(), (0..fabric.hosts()).collect());
    for scheme in [Scheme::new(SmallConga::default()), Scheme::new(SmallPlb::default())] {
        let settings = one_slow_link(&fabric, own(scheme));
        let whole = run(&fabric, &settings);
        let task = Task::new(&fabric, &flows, &settings, &progress).unwrap();
        let parts = task.partitioned(&apart).unwrap().simulate().unwrap();
        assert_eq!((&whole.flows, whole.totals, &whole.counts), (&parts.flows, parts.totals, &parts.counts));
    }
}

/// Who runs a balancer without [`simulate`] makes a task, and that checks settings too.
#[test]
fn a_task_is_checked_when_it_is_made() {
    let fabric = leaf_spine();
    let settings = one_slow_link(&fabric, Balancing::ECMP);
    let flows = [Flow { dst: 99, ..flows()[0] }];
    let refused = Task::new(&fabric, &flows, &settings, &Progress::default()).err().unwrap();
    assert_eq!(refused.to_string(), "flow 0: from host 0 to host 99; name two different hosts below 16");
}
