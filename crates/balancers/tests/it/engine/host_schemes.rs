//! Schemes of sending hosts at work: FlowBender, PLB, UEC spraying, REPS, Presto.

use super::setup::*;
use anabranch_balancers::flowbender::pick as flowbender;
use anabranch_balancers::plb::pick as plb;
use anabranch_balancers::presto::parameters::{Order, Settings as PrestoSettings};
use anabranch_balancers::reps::pick as reps;
use anabranch_balancers::uec::{Rule, Spraying};
use anabranch_balancers::{Balancing, Scheme, Settings};
use anabranch_fabric::{Buffer, Change, Fabric, Marking, Rate, What};
use anabranch_sim::Outcome;
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{Control, Reorder, Tcp, Transport};
use anabranch_traffic::Flow;
use anabranch_traffic::random::Stream;
use std::sync::LazyLock;

const LEAVES: u32 = 2;
const SPINES: u32 = 4;
const HOSTS_PER_LEAF: u32 = 8;
const PS_PER_MS: u64 = 1000 * PS_PER_US;
/// Beyond the end of every run.
const NEVER_PS: u64 = 10_000 * PS_PER_MS;

static FLOWBENDER: LazyLock<Scheme> = LazyLock::new(|| Scheme::new(flowbender::Parameters::DEFAULT));
static PLB: LazyLock<Scheme> = LazyLock::new(|| Scheme::new(plb::Parameters::DEFAULT));
static OBLIVIOUS: LazyLock<Scheme> = LazyLock::new(|| Scheme::new(Spraying::new(Rule::Oblivious)));
static BITMAP: LazyLock<Scheme> = LazyLock::new(|| Scheme::new(Spraying::new(Rule::Bitmap)));
static MIXED: LazyLock<Scheme> = LazyLock::new(|| Scheme::new(Spraying::new(Rule::Mixed)));
static REPS: LazyLock<Scheme> = LazyLock::new(|| Scheme::new(reps::Parameters::DEFAULT));
static REPS_LEGACY: LazyLock<Scheme> = LazyLock::new(|| Scheme::new(Spraying::new(Rule::Recycle)));
static PRESTO: LazyLock<Scheme> = LazyLock::new(|| Scheme::new(PrestoSettings::DEFAULT));
static WEIGHTED_PRESTO: LazyLock<Scheme> = LazyLock::new(|| {
    Scheme::new(PrestoSettings { weighted: true, order: Order::Random, ..PrestoSettings::DEFAULT })
});
pub(crate) static ALL: LazyLock<[Scheme; 9]> = LazyLock::new(|| {
    [&FLOWBENDER, &PLB, &OBLIVIOUS, &BITMAP, &MIXED, &REPS, &REPS_LEGACY, &PRESTO, &WEIGHTED_PRESTO]
        .map(|scheme| (*scheme).clone())
});

/// 65 packets to the first mark, 300 KB in all.
const MARKING: Link = Link {
    buffer: Buffer { bytes: 300_000, packets: u32::MAX },
    marking: Marking::Step { bytes: u32::MAX, packets: 65 },
    ..TEN_GIG
};

/// Seeds of each test: ties are drawn, and decide what a window meets, so one seed proves little.
const SEEDS: [u64; 4] = [1, 2, 3, 4];

fn fabric(link: Link) -> Fabric {
    leaf_spine(LEAVES, SPINES, HOSTS_PER_LEAF, link)
}

/// DCTCP; where a scheme sprays packets, one that takes no reordering for loss, as UEC's transport.
fn with(scheme: &Scheme) -> Settings {
    let plain = Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 });
    let sprays = scheme.get().is_some_and(|balancer| balancer.descriptor().granularity == "packet");
    let mut settings =
        settings(Transport::Tcp(Tcp { dup_ack_threshold: if sprays { 1000 } else { 3 }, ..plain }));
    settings.balancing = Balancing { scheme: scheme.clone(), ..Balancing::ECMP };
    settings
}

/// Between the leaves, both ways, at this part of the uplinks' 40 Gbit/s for 30 ms: mostly small flows, mostly bytes of
/// large ones.
fn load(part: f64) -> Vec<Flow> {
    let mut stream = Stream::new(3, "load");
    let (small, large, large_part) = (20_000u32, 2_000_000u32, 0.2);
    let mean_bytes = f64::from(small) * (1.0 - large_part) + f64::from(large) * large_part;
    let mut flows = Vec::new();
    for side in 0..2 {
        let mut at_ps = 0.0;
        loop {
            at_ps += stream.exponential(mean_bytes * 8.0 / (part * 40e9) * 1e12);
            if at_ps > 30e9 {
                break;
            }
            let size = if stream.unit() < large_part { large } else { small };
            let mut host = || stream.below(HOSTS_PER_LEAF.into()) as u32;
            let (here, there) = (host(), host());
            let (src, dst) = (side * HOSTS_PER_LEAF + here, (1 - side) * HOSTS_PER_LEAF + there);
            flows.push(flow(src, dst, size.into(), at_ps as u64));
        }
    }
    flows
}

fn mean_fct_us(outcome: &Outcome, flows: &[Flow]) -> f64 {
    assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
    outcome.flows.iter().map(|record| record.fct_ps as f64 / 1e6).sum::<f64>() / flows.len() as f64
}

fn sent(outcome: &Outcome, port: u32) -> u64 {
    outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_packets).sum()
}

/// Frames that leaf 0 sent to each spine.
fn uplinks(outcome: &Outcome) -> Vec<u64> {
    (0..SPINES).map(|spine| sent(outcome, uplink(LEAVES, SPINES, HOSTS_PER_LEAF, 0, spine))).collect()
}

#[test]
fn on_a_symmetric_fabric_nobody_loses_to_ecmp() {
    let (fabric, flows) = (fabric(MARKING), load(0.6));
    let mean_us = |scheme: &Scheme| {
        let seeded = |seed| mean_fct_us(&run(&fabric, &flows, &Settings { seed, ..with(scheme) }), &flows);
        SEEDS.map(seeded).iter().sum::<f64>() / SEEDS.len() as f64
    };
    let ecmp = mean_us(&Scheme::TABLES);
    for scheme in &*ALL {
        let own = mean_us(scheme);
        assert!(own < 1.03 * ecmp, "{own} us against {ecmp} us: {scheme:?}");
    }
}

/// Long flows from leaf 0 to leaf 1.
fn long(count: u32) -> Vec<Flow> {
    let to = |i| HOSTS_PER_LEAF + (i * 3) % HOSTS_PER_LEAF;
    (0..count).map(|i| flow(i % HOSTS_PER_LEAF, to(i), 3_000_000, u64::from(i) * PS_PER_US)).collect()
}

/// Long flows while spine 0's link down to leaf 1 has a tenth of the rate of the others. Frames that went up to
/// spine 0, those to the others on average, and when the last flow ended; sums over several seeds.
fn degraded(scheme: &Scheme, link: Link, count: u32) -> (u64, u64, u64) {
    let slow = uplink(LEAVES, SPINES, HOSTS_PER_LEAF, 1, 0) + 1;
    let rate = Rate::from_bps(1_000_000_000).unwrap();
    let changes = vec![Change { at_ps: 0, what: What::PortRate(slow, rate) }];
    let (mut slow, mut others, mut last_us) = (0, 0, 0);
    for seed in SEEDS {
        let settings = Settings { seed, changes: changes.clone(), ..with(scheme) };
        let outcome = run(&fabric(link), &long(count), &settings);
        assert_eq!(outcome.totals.flows_finished, u64::from(count), "{scheme:?}");
        let up = uplinks(&outcome);
        slow += up[0];
        others += up[1..].iter().sum::<u64>() / 3;
        last_us += outcome.totals.end_ps / PS_PER_US;
    }
    (slow, others, last_us)
}

#[test]
fn flows_leave_a_slow_path_that_marks() {
    let (_, _, ecmp_us) = degraded(&Scheme::TABLES, MARKING, 12);
    // One that only passes over what was marked leaves less than one that returns to what was not.
    for (scheme, of_others, of_ecmp) in [
        (&*FLOWBENDER, 0.3, 0.4),
        (&*BITMAP, 0.7, 0.7),
        (&*MIXED, 0.15, 0.2),
        (&*REPS, 0.15, 0.2),
        (&*REPS_LEGACY, 0.15, 0.2),
        (&*WEIGHTED_PRESTO, 0.2, 0.3),
    ] {
        let (slow, others, last_us) = degraded(scheme, MARKING, 12);
        assert!((slow as f64) < of_others * others as f64, "{slow} of {others}: {scheme:?}");
        assert!((last_us as f64) < of_ecmp * ecmp_us as f64, "{last_us} of {ecmp_us} us: {scheme:?}");
    }
    // One that knows nothing does not.
    for scheme in [&*OBLIVIOUS, &*PRESTO] {
        let (slow, others, _) = degraded(scheme, MARKING, 12);
        assert!(slow as f64 > 0.9 * others as f64, "{slow} of {others}: {scheme:?}");
    }
}

#[test]
fn plb_leaves_congestion_that_lasts() {
    // Flows at their least window of two segments keep more than ten packets waiting: every round trip is congested.
    let crowded = Link { marking: Marking::Step { bytes: u32::MAX, packets: 10 }, ..MARKING };
    let (_, _, ecmp_us) = degraded(&Scheme::TABLES, crowded, 48);
    let (slow, others, last_us) = degraded(&PLB, crowded, 48);
    assert!((slow as f64) < 0.3 * others as f64, "{slow} of {others}");
    assert!((last_us as f64) < 0.5 * ecmp_us as f64, "{last_us} of {ecmp_us} us");
}

/// Long flows while a port dies after 1 ms and routing learns of it so late.
fn dying(scheme: &Scheme, port: u32, routing_delay_ps: u64) -> Outcome {
    let mut settings = with(scheme);
    if let Transport::Tcp(tcp) = &mut settings.transports[0] {
        // What takes no reordering for loss finds losses by timeouts alone, too slow for this.
        tcp.rack = true;
    }
    settings.changes = vec![Change { at_ps: PS_PER_MS, what: What::PortDown(port) }];
    settings.routing_delay_ps = routing_delay_ps;
    settings.end_ps = 3_000 * PS_PER_MS;
    run(&fabric(MARKING), &long(12), &settings)
}

#[test]
fn flows_survive_a_link_that_dies() {
    // To the far leaf from spine 0, and to spine 0 from the near leaf: then acknowledgements die at spine 0.
    let far = uplink(LEAVES, SPINES, HOSTS_PER_LEAF, 1, 0) + 1;
    let near = uplink(LEAVES, SPINES, HOSTS_PER_LEAF, 0, 0);
    for port in [far, near] {
        assert!(dying(&Scheme::TABLES, port, NEVER_PS).totals.flows_finished < 12);
        for scheme in &*ALL {
            // These do not learn from silence: they are told.
            let told = [&*PRESTO, &*WEIGHTED_PRESTO, &*OBLIVIOUS, &*BITMAP].contains(&scheme);
            let outcome = dying(scheme, port, if told { 10 * PS_PER_MS } else { NEVER_PS });
            let totals = outcome.totals;
            assert_eq!(totals.flows_finished, 12, "{port} {scheme:?}");
            assert!(totals.end_ps < 500 * PS_PER_MS, "{totals:?} {port} {scheme:?}");
            let ended = totals.delivered_packets + totals.dropped_packets + totals.lost_packets;
            assert_eq!(ended + totals.packets_left, totals.sent_packets, "{port} {scheme:?}");
        }
    }
}

#[test]
fn the_same_run_twice_and_another_seed() {
    let (fabric, flows) = (fabric(MARKING), load(0.8));
    for scheme in &*ALL {
        let mut settings = with(scheme);
        let first = run(&fabric, &flows, &settings);
        let again = run(&fabric, &flows, &settings);
        assert_eq!((&first.flows, &first.ports), (&again.flows, &again.ports), "{scheme:?}");
        settings.seed = 2;
        assert_ne!(first.flows, run(&fabric, &flows, &settings).flows, "{scheme:?}");
    }
}

#[test]
fn without_marks_and_losses_flows_go_where_ecmp_sends_them() {
    let (fabric, flows) = (fabric(TEN_GIG), load(0.8));
    let ecmp = run(&fabric, &flows, &with(&Scheme::TABLES));
    for scheme in [&*FLOWBENDER, &*PLB] {
        let own = run(&fabric, &flows, &with(scheme));
        assert_eq!((&own.flows, &own.ports), (&ecmp.flows, &ecmp.ports), "{scheme:?}");
    }
}

#[test]
fn prestos_receiver_keeps_tcp_from_sending_again_what_was_reordered() {
    let again = |scheme: &Scheme| {
        let outcome = run(&fabric(MARKING), &load(0.6), &with(scheme));
        assert_eq!(outcome.totals.dropped_packets, 0);
        outcome.flows.iter().map(|record| record.retransmitted_packets).sum::<u64>()
    };
    let bare = Scheme::new(PrestoSettings { hold_ps: 0, ..PrestoSettings::DEFAULT });
    let (with_receiver, without) = (again(&PRESTO), again(&bare));
    // What is left is reordering by more than twice what it was before: the hold adapts.
    assert!(without > 1000 && with_receiver < without / 4, "{with_receiver} of {without}");
}

#[test]
fn weighted_presto_uses_paths_by_their_slowest_link() {
    let scheme =
        Scheme::new(PrestoSettings { weighted: true, hold_ps: PS_PER_MS, ..PrestoSettings::DEFAULT });
    let mut settings = with(&scheme);
    let slow = uplink(LEAVES, SPINES, HOSTS_PER_LEAF, 1, 0) + 1;
    let rate = Rate::from_bps(2_000_000_000).unwrap();
    settings.changes = vec![Change { at_ps: 0, what: What::PortRate(slow, rate) }];
    // One flow, sixteen times through the list of sixteen turns: 16 cells of 45 or 46 segments against 80.
    let size = 16 * 16 * 65_536;
    let outcome = run(&fabric(TEN_GIG), &[flow(0, HOSTS_PER_LEAF, size, 0)], &settings);
    assert_eq!(outcome.flows[0].retransmitted_packets, 0);
    let up = uplinks(&outcome);
    assert!((16 * 45..=16 * 46).contains(&up[0]), "{up:?}");
    assert!(up[1..].iter().all(|sent| (80 * 45..=80 * 46).contains(sent)), "{up:?}");
}

#[test]
fn delayed_acknowledgements_return_values_too() {
    let mut settings = with(&REPS);
    if let Transport::Tcp(tcp) = &mut settings.transports[0] {
        (tcp.ack_every, tcp.ack_delay_ps) = (4, 500 * PS_PER_US);
    }
    let slow = uplink(LEAVES, SPINES, HOSTS_PER_LEAF, 1, 0) + 1;
    let rate = Rate::from_bps(1_000_000_000).unwrap();
    settings.changes = vec![Change { at_ps: 0, what: What::PortRate(slow, rate) }];
    let up = uplinks(&run(&fabric(MARKING), &long(12), &settings));
    assert!(up[0] as f64 <= 0.2 * up[1] as f64, "{up:?}");
}

#[test]
fn a_receiver_that_holds_packets_back_does_not_praise_the_path_it_waited_for() {
    // The packet that fills a gap came by the longest queue. Were its value returned for all that it releases, flows would
    // gather there, and end later than under values drawn blindly.
    let held = |scheme: &Scheme| {
        let mut settings = with(scheme);
        if let Transport::Tcp(tcp) = &mut settings.transports[0] {
            tcp.reorder = Reorder::Hold { timeout_ps: 100 * PS_PER_US };
        }
        let (fabric, flows) = (fabric(MARKING), load(0.6));
        mean_fct_us(&run(&fabric, &flows, &settings), &flows)
    };
    let (blind, reps) = (held(&OBLIVIOUS), held(&REPS));
    assert!(reps < 1.1 * blind, "{reps} us against {blind} us");
}

/// Every packet is marked, so that each round trip is congested, under UEC as well: FlowBender's flow goes on to another path
/// after each, PLB's after each few.
#[test]
fn rounds_end_under_uec() {
    let marking = Marking::Ramp { low_bytes: 0, high_bytes: 1, probability: 1.0 };
    let fabric = leaf_spine(2, 16, 1, Link { marking, ..TEN_GIG });
    for scheme in [&FLOWBENDER, &PLB] {
        let settings = Settings {
            balancing: Balancing { scheme: (*scheme).clone(), ..Balancing::ECMP },
            ..settings(Transport::Uec(Uec::DEFAULT))
        };
        let outcome = run(&fabric, &[flow(0, 1, 3_000_000, 0)], &settings);
        assert!(outcome.flows[0].paths >= 4, "{:?}", outcome.flows[0]);
    }
}
