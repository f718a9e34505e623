//! Mutations: each breaks what its sentence says, and nothing else of the scheme.

use super::setup::*;
use anabranch_balancers::wino::parameters::Wino;
use anabranch_balancers::{MUTATIONS, Mutation, Scheme, Settings, registry};
use anabranch_fabric::{Buffer, Change, Rate, What};
use anabranch_plan::Weighing;
use anabranch_sim::Outcome;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_traffic::Flow;

const GBPS: u64 = 1_000_000_000;
const SPINES: u32 = 2;
const HOSTS: u32 = 4;

/// The scheme whole, or with a mutation; Wino's rules are there at once, and it polls every 12.3 ms.
fn with(balancer: &str, mutation: Option<&str>, transport: Transport) -> Settings {
    let mut settings = settings(transport);
    settings.balancing = registry::find(balancer).unwrap().balancing();
    if balancer == "wino" {
        settings.balancing.scheme =
            Scheme::new(Wino { poll_ns: 12_304_000, install_delay_ns: 0, ..Wino::default() });
    }
    if let Some(name) = mutation {
        let mutation = Mutation::find(name).unwrap();
        assert!(mutation.balancers.contains(&balancer), "{name}");
        mutation.apply(&mut settings.balancing);
    }
    settings
}

fn port_rate(port: u32, bps: u64) -> Change {
    Change { at_ps: 0, what: What::PortRate(port, Rate::from_bps(bps).unwrap()) }
}

/// Frames that left by each of these ports.
fn sent(outcome: &Outcome, ports: impl IntoIterator<Item = u32>) -> Vec<u64> {
    let of = |port| {
        outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_packets).sum()
    };
    ports.into_iter().map(of).collect()
}

fn backlog(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|record| record.backlog_max_bytes).max().unwrap()
}

fn count(outcome: &Outcome, what: &str) -> u64 {
    outcome.counts.iter().find(|(name, _)| name.starts_with(what)).map(|&(_, count)| count).unwrap()
}

/// Two leaves of four hosts under two spines, the link from leaf 0 to spine 1 at `slow_bps`; each host of leaf 0 sends
/// `flows` of 200 KB to leaf 1, one every 500 us.
fn under_load(balancer: &str, mutation: Option<&str>, slow_bps: u64, flows: u64) -> Outcome {
    let buffer = Buffer { bytes: 300_000, packets: u32::MAX };
    let fabric = leaf_spine(2, SPINES, HOSTS, Link { buffer, ..TEN_GIG });
    let mut settings = with(balancer, mutation, Transport::Tcp(Tcp::plain(Control::NewReno)));
    settings.balancing.weighing = match settings.balancing.weighing {
        Weighing::Capacity => Weighing::Given(vec![(8, 10, 4), (8, 11, 1)]),
        weighing => weighing,
    };
    settings.changes = vec![port_rate(uplink(2, SPINES, HOSTS, 0, 1), slow_bps)];
    let flow = |number: u64, host: u32| {
        let start_ps = (number * 500 + u64::from(host) * 120) * PS_PER_US;
        flow(host, HOSTS + host, 200_000, start_ps)
    };
    let flows: Vec<Flow> =
        (0..flows).flat_map(|number| (0..HOSTS).map(move |host| flow(number, host))).collect();
    run(&fabric, &flows, &settings)
}

/// Share of the frames of leaf 0 that went to spine 1.
fn slow_share(outcome: &Outcome) -> f64 {
    let sent = sent(outcome, (0..SPINES).map(|spine| uplink(2, SPINES, HOSTS, 0, spine)));
    sent[1] as f64 / sent.iter().sum::<u64>() as f64
}

#[test]
fn every_mutation_changes_its_load_balancers() {
    for mutation in &MUTATIONS {
        assert_eq!(MUTATIONS.iter().filter(|other| *other == mutation).count(), 1, "{mutation:?}");
        assert!(mutation.warning().contains(mutation.broken) && mutation.broken.ends_with('.'));
        let mut broken = 0;
        for descriptor in registry::all() {
            let is_own = descriptor.mutations().any(|one| one == mutation);
            let mut balancing = descriptor.balancing();
            if is_own {
                mutation.apply(&mut balancing);
                assert_ne!(balancing, descriptor.balancing(), "{mutation:?} {}", descriptor.name);
                broken += 1;
            }
        }
        assert_eq!(broken, mutation.balancers.len(), "{mutation:?}");
    }
}

/// DBB over the paper's Fig. 5, offered just what it carries: frames over each link, the longest queue, and the links by
/// which its first switch sends, packet by packet.
fn figure_5_links(mutation: Option<&str>, seed: u64) -> (Vec<u64>, u64, Vec<u32>) {
    let (fabric, changes) = super::dbb::figure_5();
    let mut settings = Settings { changes, seed, ..with("dbb", mutation, udp(10 * GBPS)) };
    settings.observe.capture_ports = vec![4, 6];
    settings.observe.capture_packets_max = u64::MAX;
    let mut outcome = run(&fabric, &[flow(0, 1, 1000 * 1448, 0)], &settings);
    outcome.captures.sort_by_key(|capture| capture.packet.seq);
    let order = outcome.captures.iter().map(|capture| capture.port).collect();
    (sent(&outcome, (4..20).step_by(2)), backlog(&outcome), order)
}

#[test]
fn dbb_keeps_its_quotas_in_another_order_and_loses_them_where_packets_draw() {
    let quotas = [200, 800, 100, 100, 300, 500, 400, 600];
    let (whole, short, laid) = figure_5_links(None, 1);
    assert_eq!((whole, laid.len()), (quotas.to_vec(), 1000));
    for order in ["random-order", "blocks"] {
        let (carried, queue, links) = figure_5_links(Some(order), 1);
        assert_eq!(carried, quotas, "{order}");
        assert!(queue > short && links != laid, "{order}: {queue} after {short}");
    }
    let order = |mutation, seed| figure_5_links(Some(mutation), seed).2;
    assert_ne!(order("random-order", 1), order("random-order", 2));
    assert_eq!(order("blocks", 1), order("blocks", 2));
    // Of 1000 packets half by each of two links; four standard deviations are 64.
    let (drawn, _, _) = figure_5_links(Some("random"), 1);
    assert!((436..=564).contains(&drawn[0]) && drawn[2] != drawn[3], "{drawn:?}");
    assert_eq!(figure_5_links(Some("bandwidths-ignored"), 1).0[..2], [500, 500]);
}

/// Wino over links of 10 and 5 Gbit/s: frames of a stream of full frames over each, and all that was policed.
fn wino_links(mutation: Option<&str>) -> ([u64; 2], u64) {
    let fabric = leaf_spine(2, SPINES, 1, TEN_GIG);
    let mut settings = with("wino", mutation, udp(10 * GBPS));
    settings.changes = vec![port_rate(uplink(2, SPINES, 1, 0, 1), 5 * GBPS)];
    let outcome = run(&fabric, &[flow(0, 1, 3000 * 1448, PS_PER_US)], &settings);
    let [fast, slow] = sent(&outcome, [0, 1].map(|spine| uplink(2, SPINES, 1, 0, spine))).try_into().unwrap();
    ([fast, slow], 3000 - fast - slow)
}

#[test]
fn wino_without_its_slices_and_meters() {
    assert_eq!(wino_links(None), ([2000, 1000], 0));
    // Two slices of 5 Gbit/s on either path.
    assert_eq!(wino_links(Some("equal-slices")), ([1500, 1500], 0));
    let ([fast, slow], _) = wino_links(Some("random-slices"));
    assert!(slow != 1000 && fast.abs_diff(2000) < 110, "{fast} {slow}");
}

#[test]
fn wino_without_meters_drops_nothing_before_the_link() {
    // Two hosts send 20 Gbit/s into slices of 15.
    let policed = |mutation| {
        let fabric = leaf_spine(2, SPINES, 2, TEN_GIG);
        let mut settings = with("wino", mutation, udp(10 * GBPS));
        settings.changes = vec![port_rate(uplink(2, SPINES, 2, 0, 1), 5 * GBPS)];
        let flows = [0, 1].map(|host| flow(host, 2 + host, 10_000 * 1448, PS_PER_US));
        let outcome = run(&fabric, &flows, &settings);
        20_000 - sent(&outcome, [0, 1].map(|spine| uplink(2, SPINES, 2, 0, spine))).iter().sum::<u64>()
    };
    assert!(policed(None) > 500, "{}", policed(None));
    assert_eq!(policed(Some("meters-ignored")), 0);
}

#[test]
fn wino_cuts_whole_links_where_residuals_are_ignored() {
    // A pinned stream takes 4 of spine 0's 10 Gbit/s for 40 ms; the controller polls after 12 ms.
    let shares = |mutation| {
        let fabric = leaf_spine(3, SPINES, 2, TEN_GIG);
        let mut settings = with("wino", mutation, udp(9 * GBPS));
        settings.transports.push(udp(4 * GBPS));
        let pinned = Flow { path: Some(0), transport: 1, ..flow(1, 5, 10_000 * 1448, 0) };
        let stream = flow(0, 2, 4_000 * 1448, 20_000 * PS_PER_US);
        let outcome = run(&fabric, &[pinned, stream], &settings);
        sent(&outcome, [uplink(3, SPINES, 2, 0, 1)])[0]
    };
    assert_eq!(shares(Some("residuals-ignored")), 2000);
    assert!((2300..2700).contains(&shares(None)), "{}", shares(None));
}

#[test]
fn luopan_without_its_samples() {
    let share = |mutation| slow_share(&under_load("luopan", mutation, GBPS, 20));
    let whole = share(None);
    let [most, stale] = ["most-congested", "samples-stale"].map(|name| share(Some(name)));
    assert!(most > whole, "{most} after {whole}");
    assert!(stale != whole, "{stale}");
    let probes = |mutation| count(&under_load("luopan", mutation, GBPS, 2), "probes sent");
    assert!(probes(Some("samples-ignored")) > 0);
    assert!(probes(Some("samples-stale")) < probes(None) / 4);
    let placed = |mutation| count(&under_load("luopan", mutation, GBPS, 2), "flowcells placed by samples");
    assert_eq!((placed(Some("samples-ignored")), placed(None) > 0), (0, true));
}

#[test]
fn tdlb_without_its_parts() {
    let run = |mutation| under_load("tdlb", mutation, 2 * GBPS, 20);
    let share = |mutation| slow_share(&run(mutation));
    let whole = share(None);
    let slowest = share(Some("slowest-path"));
    assert!(slowest > whole + 0.05, "{slowest} after {whole}");
    let counted = |mutation, what| count(&run(mutation), what);
    let congested = "packets that found their uplink congested";
    assert!(counted(None, congested) > 0);
    assert_eq!(counted(Some("undetected"), congested), 0);
    let to_blame = "packets of flows to blame";
    assert!(counted(None, to_blame) > 0);
    assert_eq!(counted(Some("culprits-move"), to_blame), 0);
    // Of flows that are told from the innocent few are left to move.
    let within = "packets of innocent flows";
    let both = |timeout| {
        let mut settings = with("tdlb", Some("culprits-move"), Transport::Tcp(Tcp::plain(Control::NewReno)));
        Mutation::find(timeout).unwrap().apply(&mut settings.balancing);
        settings
    };
    assert_ne!(both("fixed-timeout").balancing, both("no-timeout").balancing);
    assert!(counted(Some("fixed-timeout"), within) >= counted(Some("no-timeout"), within));
}

#[test]
fn valo_with_other_gravities() {
    // Weights of 4 and 1 of leaf 0 (node 8) towards its spines.
    let frames = |mutation: Option<&str>| {
        let fabric = leaf_spine(2, SPINES, HOSTS, TEN_GIG);
        let mut settings = settings(udp(GBPS));
        settings.balancing = registry::find("valo").unwrap().balancing();
        settings.balancing.weighing = Weighing::Given(vec![(8, 10, 4), (8, 11, 1)]);
        if let Some(name) = mutation {
            Mutation::find(name).unwrap().apply(&mut settings.balancing);
        }
        let flows: Vec<Flow> =
            (0..4000).map(|number| flow(0, HOSTS, 1000, number * 20 * PS_PER_US)).collect();
        let outcome = run(&fabric, &flows, &settings);
        sent(&outcome, [uplink(2, SPINES, HOSTS, 0, 1)])[0]
    };
    // Shares of 1 in 5, 1 in 2, and 1 in 8 (half of a quarter); five standard deviations.
    for (mutation, expected, most) in
        [(None, 800, 127), (Some("gravity-equal"), 2000, 158), (Some("gravity-plain"), 500, 105)]
    {
        let frames = frames(mutation);
        assert!(frames.abs_diff(expected) < most, "{mutation:?}: {frames} of {expected}");
    }
}
