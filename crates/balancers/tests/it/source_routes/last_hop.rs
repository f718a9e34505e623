//! TDLB's example: four flows from one leaf to one host, and a fifth, begun later, to another host (Figs. 1 and 2). All
//! five share an uplink under ECMP.

use crate::engine::setup::*;
use anabranch_balancers::tdlb::parameters::Tdlb;
use anabranch_balancers::tdlb::pick as tdlb;
use anabranch_balancers::tdlb::pick::Detect;
use anabranch_balancers::{Balancing, Scheme, Settings};
use anabranch_fabric::{Buffer, Change, Fabric, Rate, What};
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport, Udp};
use anabranch_traffic::Flow;

const SPINES: u32 = 2;
const HOSTS: u32 = 5;
const THRESHOLD_BYTES: u64 = 150_000;
const DATAGRAMS: u8 = 1;

/// 40 Gb/s and 10 us a link: 80 us there and back.
fn fabric() -> Fabric {
    let buffer = Buffer { bytes: 1_200_000, ..Buffer::UNLIMITED };
    let link = Link { rate_bps: 40_000_000_000, delay_ps: 10 * PS_PER_US, buffer, ..TEN_GIG };
    leaf_spine(2, SPINES, HOSTS, link)
}

/// Flows 0 to 3 go to the first host of leaf 1.
fn culprits() -> Vec<Flow> {
    (0..4).map(|src| flow(src, HOSTS, 10_000_000, 0)).collect()
}

/// Flow 4 goes to the second host.
fn with(innocent: Flow) -> Vec<Flow> {
    let innocent = Flow { src: 4, dst: HOSTS + 1, ..innocent };
    culprits().into_iter().chain([innocent]).collect()
}

fn settings_of(scheme: Scheme, seed: u64) -> Settings {
    let rate = Rate::from_bps(1_000_000_000).unwrap();
    Settings {
        seed,
        balancing: Balancing { scheme, ..Balancing::ECMP },
        transports: vec![
            Transport::Tcp(Tcp::plain(Control::NewReno)),
            Transport::Udp(Udp { rate, payload_bytes_max: None }),
        ],
        ..settings(Transport::Udp(Udp { rate, payload_bytes_max: None }))
    }
}

/// Seeds under which ECMP's hash sends all five flows over the first spine.
fn seeds() -> Vec<u64> {
    let fabric = fabric();
    let flows: Vec<Flow> =
        with(flow(0, 0, 1_000, 0)).iter().map(|flow| Flow { size_bytes: 1_000, ..*flow }).collect();
    let all_first = |seed: &u64| {
        let outcome = run(&fabric, &flows, &settings_of(Scheme::TABLES, *seed));
        outcome.ports[uplink(2, SPINES, HOSTS, 0, 1) as usize].sent_packets == 0
    };
    let seeds: Vec<u64> = (1..300).filter(all_first).take(3).collect();
    assert_eq!(seeds.len(), 3);
    seeds
}

fn tdlb(rules: tdlb::Parameters) -> Scheme {
    Scheme::new(Tdlb { rules, threshold_bytes: Some(THRESHOLD_BYTES), ..Tdlb::default() })
}

fn fct_us(outcome: &Outcome, flow: usize) -> u64 {
    outcome.flows[flow].fct_ps / PS_PER_US
}

#[test]
fn a_flow_that_begins_behind_a_full_uplink_takes_the_other() {
    let flows = with(flow(0, 0, 100_000, 1_000 * PS_PER_US));
    for seed in seeds() {
        let ecmp = run(&fabric(), &flows, &settings_of(Scheme::TABLES, seed));
        assert!(ecmp.flows.iter().all(|flow| flow.paths == 1));
        let outcome = run(&fabric(), &flows, &settings_of(tdlb(tdlb::Parameters::default()), seed));
        assert_eq!(outcome.flows[4].paths, 1, "it never was on the first");
        // Who waited for a timeout is in no queue and to blame for nothing.
        let stayed = outcome.flows[..4].iter().filter(|flow| flow.timeouts == 0);
        assert!(stayed.clone().count() >= 2 && stayed.into_iter().all(|flow| flow.paths == 1));
        assert!(2 * fct_us(&outcome, 4) < fct_us(&ecmp, 4), "{} {}", fct_us(&outcome, 4), fct_us(&ecmp, 4));
        let reordered: u64 = outcome.flows.iter().map(|flow| flow.reordered_packets).sum();
        assert_eq!(reordered, 0);
    }
}

/// The queue is in the last hop, where hosts have 10 Gb/s: uplinks are never full.
#[test]
fn what_the_last_hop_reports_moves_the_innocent_flow_only() {
    let innocent = Flow { transport: DATAGRAMS, ..flow(0, 0, 1_000_000, 0) };
    let flows = with(innocent);
    let slow = Rate::from_bps(10_000_000_000).unwrap();
    let slow_hosts: Vec<Change> =
        (0..4 * HOSTS).map(|port| Change { at_ps: 0, what: What::PortRate(port, slow) }).collect();
    for seed in seeds() {
        let moved_percent = |detect| {
            let rules = tdlb::Parameters { detect, ..tdlb::Parameters::default() };
            let settings = Settings { changes: slow_hosts.clone(), ..settings_of(tdlb(rules), seed) };
            let outcome = run(&fabric(), &flows, &settings);
            assert!(outcome.flows[..4].iter().all(|flow| flow.paths == 1), "culprits stay");
            // Probes are 64 bytes, datagrams 1518.
            let second = &outcome.ports[uplink(2, SPINES, HOSTS, 0, 1) as usize];
            let datagrams = (second.sent_bytes - 64 * second.sent_packets) as f64 / (1518.0 - 64.0);
            100.0 * datagrams / outcome.flows[4].sent_packets as f64
        };
        assert!(moved_percent(Detect::Uplink) < 1.0, "nothing to be seen there");
        let (last_hop, both) = (moved_percent(Detect::LastHop), moved_percent(Detect::Both));
        assert!(last_hop > 80.0 && both > 80.0, "{last_hop} {both}");
    }
}
