//! Every load balancer that scenarios can name, under everything that can happen to a fabric: nothing panics, no packet
//! is unaccounted for, the same run is the same to the bit, and every flow that has a way in the end arrives.
//!
//! Schemes come from the catalogue: a new one is tested from the day it has a name.
#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

use anabranch_fabric::{Change, Fabric, Tier, What};
use anabranch_scenario::{BALANCE, Resolved, Scenario, catalogue};
use anabranch_sim::{Outcome, Progress, Settings, simulate};
use anabranch_traffic::{Flow, Start};
use proptest::prelude::*;
use std::path::Path;

const PS_PER_US: u64 = 1_000_000;
/// Until then all is repaired, but for a link that may stay dead.
const REPAIRED_US: u64 = 4_000;
const TRANSPORTS: [&str; 5] = ["dctcp", "newreno", "cubic", "mptcp", "udp"];

/// Load balancers that are defined for leaves and spines only, and refuse more tiers.
const TWO_TIERS: [&str; 1] = ["conga"];

/// A number that a failure's place is drawn by, what it is, when it begins and how long it lasts.
type Failure = (u32, Kind, u64, u64);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Link,
    OneDirection,
    Node,
    Slow,
    Lossy,
    Blackhole,
}

/// What is the same for all schemes of a case.
#[derive(Clone, Debug)]
struct Case {
    seed: u16,
    transport: &'static str,
    /// Source, steps from it to the destination, size, start in microseconds.
    flows: Vec<(u32, u32, u64, u64)>,
    failures: Vec<Failure>,
    /// A link between switches that dies for good: a number it is drawn by, and when.
    dead: Option<(u32, u64)>,
    routing_delay_us: u64,
    buffer_packets: u32,
}

fn case() -> impl Strategy<Value = Case> {
    use Kind::{Blackhole, Link, Lossy, Node, OneDirection, Slow};
    let kind = prop::sample::select(vec![Link, OneDirection, Node, Slow, Lossy, Blackhole]);
    let failure = (any::<u32>(), kind, 0..REPAIRED_US / 2, 1..REPAIRED_US / 2);
    (
        any::<u16>(),
        prop::sample::select(TRANSPORTS.to_vec()),
        prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..300_000, 0u64..1_000), 1..10),
        prop::collection::vec(failure, 0..4),
        prop::option::of((any::<u32>(), 0u64..1_000)),
        0u64..1_000,
        8u32..200,
    )
        .prop_map(|(seed, transport, flows, failures, dead, routing_delay_us, buffer_packets)| Case {
            seed,
            transport,
            flows,
            failures,
            dead,
            routing_delay_us,
            buffer_packets,
        })
}

fn resolve(fabric: &str, balance: &str, case: &Case) -> Resolved {
    let Case { seed, transport, buffer_packets, .. } = case;
    let details = if *transport == "udp" { "rate = \"2 Gbps\"" } else { "max_rto = \"40 ms\"" };
    let text = format!(
        "seed = {seed}\n[fabric]\n{fabric}\nlink.buffer = \"{buffer_packets} packets\"\n\
         [routing]\nbalance = \"{balance}\"\n[transport]\nkind = \"{transport}\"\n{details}\n\
         [[traffic]]\nload = 0.1\nflows = 1\n"
    );
    Scenario::parse(&text, "survival.toml", &[])
        .and_then(|scenario| scenario.resolve(Path::new(".")))
        .unwrap()
}

fn flows(fabric: &Fabric, case: &Case) -> Vec<Flow> {
    let hosts = fabric.hosts();
    let flow = |&(src, step, size_bytes, start_us): &(u32, u32, u64, u64)| {
        let src = src % hosts;
        let dst = (src + 1 + step % (hosts - 1)) % hosts;
        let start = Start::At(start_us * PS_PER_US);
        Flow { src, dst, size_bytes, start, path: None, job: None, transport: 0 }
    };
    case.flows.iter().map(flow).collect()
}

/// Ports between switches.
fn inner_ports(fabric: &Fabric) -> Vec<u32> {
    let inner = |port: &u32| {
        let port = &fabric.ports()[*port as usize];
        port.from >= fabric.hosts() && port.to >= fabric.hosts()
    };
    (0..fabric.ports().len() as u32).filter(inner).collect()
}

fn changes(fabric: &Fabric, case: &Case) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut at = |at_us: u64, what| changes.push(Change { at_ps: at_us * PS_PER_US, what });
    for &(draw, kind, from_us, for_us) in &case.failures {
        let port = draw % fabric.ports().len() as u32;
        let reverse = fabric.ports()[port as usize].reverse;
        let switch = fabric.hosts() + draw % (fabric.nodes().len() as u32 - fabric.hosts());
        let rate = fabric.ports()[port as usize].rate;
        let until_us = from_us + for_us;
        match kind {
            Kind::Link => {
                for port in [port, reverse] {
                    at(from_us, What::PortDown(port));
                    at(until_us, What::PortUp(port));
                }
            }
            Kind::OneDirection => {
                at(from_us, What::PortDown(port));
                at(until_us, What::PortUp(port));
            }
            Kind::Node => {
                at(from_us, What::NodeDown(switch));
                at(until_us, What::NodeUp(switch));
            }
            Kind::Slow => {
                at(from_us, What::PortRate(port, anabranch_fabric::Rate::from_bps(1_000_000_000).unwrap()));
                at(until_us, What::PortRate(port, rate));
            }
            Kind::Lossy => {
                at(from_us, What::PortLoss(port, 0.05));
                at(until_us, What::PortLoss(port, 0.0));
            }
            Kind::Blackhole => {
                at(from_us, What::NodeBlackhole(switch, 0.5));
                at(until_us, What::NodeBlackhole(switch, 0.0));
            }
        }
    }
    if let Some((draw, from_us)) = case.dead {
        let inner = inner_ports(fabric);
        let port = inner[draw as usize % inner.len()];
        // After the repairs: that of a switch would bring it back.
        at(REPAIRED_US + from_us, What::PortDown(port));
        at(REPAIRED_US + from_us, What::PortDown(fabric.ports()[port as usize].reverse));
    }
    changes
}

fn run(fabric: &Fabric, flows: &[Flow], settings: &Settings) -> Result<Outcome, String> {
    simulate(fabric, flows, settings, &Progress::default()).map_err(|error| error.to_string())
}

/// Runs a case under every scheme.
fn survive(fabric: &str, case: &Case) -> Result<(), TestCaseError> {
    for name in catalogue().into_iter().filter(|entry| entry.key == BALANCE).map(|entry| entry.name) {
        let resolved = resolve(fabric, name, case);
        let fabric = resolved.fabric();
        let three_tiers = fabric.nodes().iter().any(|node| node.tier == Tier::Aggregation);
        let flows = flows(fabric, case);
        let mut settings = resolved.settings().clone();
        settings.changes = changes(fabric, case);
        settings.routing_delay_ps = case.routing_delay_us * PS_PER_US;
        settings.end_ps = 5_000_000 * PS_PER_US;
        let outcome = run(fabric, &flows, &settings);
        if three_tiers && TWO_TIERS.contains(&name) {
            prop_assert!(outcome.is_err_and(|error| error.contains(name)), "{} is not refused by name", name);
            continue;
        }
        prop_assert!(outcome.is_ok(), "{}: {:?}", name, outcome.err());
        let outcome = outcome.unwrap();
        let totals = outcome.totals;
        let accounted =
            totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left;
        prop_assert_eq!(totals.sent_packets, accounted, "{}: {:?}", name, totals);
        if case.transport != "udp" {
            prop_assert_eq!(totals.flows_finished, flows.len() as u64, "{}: {:?}", name, outcome.flows);
        }
        for (flow, record) in flows.iter().zip(&outcome.flows) {
            prop_assert!(record.fct_ps == u64::MAX || record.sent_bytes >= flow.size_bytes, "{}", name);
        }
        let again = run(fabric, &flows, &settings).unwrap();
        prop_assert_eq!(&outcome.flows, &again.flows, "{} twice", name);
        prop_assert_eq!(&outcome.ports, &again.ports, "{} twice", name);
        prop_assert_eq!(outcome.totals, again.totals, "{} twice", name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn every_scheme_survives_in_leaf_spines(
        leaves in 2u32..5,
        spines in 2u32..5,
        hosts in 1u32..4,
        parallel in 1u32..3,
        case in case(),
    ) {
        let fabric = format!(
            "leaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts}\nparallel_links = {parallel}"
        );
        survive(&fabric, &case)?;
    }

    #[test]
    fn every_scheme_survives_in_fat_trees(hosts in 1u32..3, case in case()) {
        survive(&format!("kind = \"fat-tree\"\nk = 4\nhosts_per_leaf = {hosts}"), &case)?;
    }
}
