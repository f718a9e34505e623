//! Schemes from outside the crate: what they are shown, what comes of what they say, and what is refused.

use super::setup::*;
use anabranch_balancers::ideal::Ideal;
use anabranch_balancers::{
    Balancing, Granularity, MemberStats, PickedPacket, Picker, Scheme, Settings, Table, View, WeighedGroup,
    Weigher, simulate, simulate_picked, simulate_weighed, simulate_with,
};
use anabranch_fabric::{Change, Rate, What};
use anabranch_plan::Weighing;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Kind, Outcome, Progress};
use anabranch_split::picks::{Uniform, mix};
use anabranch_traffic::Flow;
use proptest::prelude::*;

const SPINES: u32 = 4;
const HOSTS_PER_LEAF: u32 = 4;
const EPOCH_PS: u64 = 10 * PS_PER_US;
/// Node of the first leaf.
const LEAF: u32 = 2 * HOSTS_PER_LEAF;

const TURNS: Table = Table::Turns { block: false };
const CELLS: Granularity = Granularity::Flowcell { bytes: 65_536 };

fn with(granularity: Granularity, table: Table, transport: Transport) -> Settings {
    let mut settings = settings(transport);
    settings.balancing = Balancing { granularity, table, ..Balancing::ECMP };
    settings
}

fn tcp() -> Transport {
    Transport::Tcp(Tcp::plain(Control::NewReno))
}

fn up(spine: u32) -> u32 {
    uplink(2, SPINES, HOSTS_PER_LEAF, 0, spine)
}

/// Frames that leaf 0 sent to each spine.
fn uplinks(outcome: &Outcome) -> Vec<u64> {
    let sent = |port: u32| {
        outcome.ports.iter().filter(|record| record.port == port).map(|record| record.sent_packets).sum()
    };
    (0..SPINES).map(|spine| sent(up(spine))).collect()
}

/// Says what a function says; keeps what it was shown.
struct Told<F> {
    say: F,
    seen: Vec<(u64, u32, Vec<u64>, Vec<MemberStats>)>,
}

fn told<F: FnMut(u64) -> Option<Vec<u64>>>(say: F) -> Told<F> {
    Told { say, seen: Vec::new() }
}

impl<F: FnMut(u64) -> Option<Vec<u64>>> Weigher for Told<F> {
    fn epoch_ps(&self) -> u64 {
        EPOCH_PS
    }

    fn weigh(&mut self, group: &WeighedGroup<'_>, stats: &[MemberStats]) -> Option<Vec<u64>> {
        if group.switch != LEAF {
            return None;
        }
        self.seen.push((group.now_ps, group.number, group.weights.to_vec(), stats.to_vec()));
        (self.say)(group.now_ps)
    }
}

fn weighed(weigher: &mut dyn Weigher, flows: &[Flow], settings: &Settings) -> Outcome {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    simulate_weighed(weigher, &fabric, flows, settings, &Progress::default()).unwrap()
}

#[test]
fn a_scheme_from_outside_runs_as_the_one_of_the_house_does() {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    let flows: Vec<Flow> =
        (0..12).map(|i| flow(i % 4, 4 + i % 3, 200_000, u64::from(i) * PS_PER_US)).collect();
    for granularity in [Granularity::Flow, CELLS, Granularity::Packet] {
        let settings = with(granularity, Table::Uniform, tcp());
        let ours = run(&fabric, &flows, &settings);
        let own = simulate_with::<Uniform>((), &fabric, &flows, &settings, &Progress::default()).unwrap();
        assert_eq!((own.flows, own.ports, own.totals), (ours.flows, ours.ports, ours.totals));
    }
}

#[test]
fn a_weigher_that_keeps_routings_weights_changes_nothing() {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    let flows: Vec<Flow> =
        (0..12).map(|i| flow(i % 4, 4 + i % 3, 200_000, u64::from(i) * PS_PER_US)).collect();
    for granularity in [Granularity::Flow, CELLS, Granularity::Packet] {
        for table in [Table::MinMove, Table::Valo, TURNS, Table::Deficit] {
            let settings = with(granularity, table, tcp());
            let ours = run(&fabric, &flows, &settings);
            for say in [None, Some(vec![1; 4])] {
                let own = weighed(&mut told(|_| say.clone()), &flows, &settings);
                assert_eq!((&own.flows, &own.ports), (&ours.flows, &ours.ports), "{table:?} {say:?}");
            }
        }
    }
}

#[test]
fn packets_follow_the_weights_of_their_epoch() {
    // A frame of 1538 bytes with its gap every 12.304 us: 100 of them, of which the 50th comes to the leaf at 605.1 us.
    let flows = [flow(0, 4, 100 * 1448, 0)];
    let change_ps = 610 * PS_PER_US;
    let mut weigher =
        told(|now_ps| Some(if now_ps < change_ps { vec![3, 1, 1, 0] } else { vec![0, 0, 2, 3] }));
    let outcome = weighed(&mut weigher, &flows, &with(Granularity::Packet, TURNS, udp(1_000_000_000)));
    assert_eq!(uplinks(&outcome), [30, 10, 10 + 20, 30]);
}

#[test]
fn stats_add_up_to_the_records_of_the_ports() {
    let flows: Vec<Flow> = (0..8).map(|i| flow(i % 4, 4 + i % 4, 500_000, 0)).collect();
    let mut settings = with(CELLS, TURNS, tcp());
    let slow = Rate::from_bps(1_000_000_000).unwrap();
    settings.changes = vec![
        Change { at_ps: 205 * PS_PER_US, what: What::PortRate(up(1), slow) },
        Change { at_ps: 305 * PS_PER_US, what: What::PortDown(up(2)) },
        Change { at_ps: 605 * PS_PER_US, what: What::PortUp(up(2)) },
    ];
    settings.routing_delay_ps = 17 * PS_PER_US;
    settings.observe.interval_ps = 70 * PS_PER_US;
    let mut weigher = told(|_| None);
    let outcome = weighed(&mut weigher, &flows, &settings);
    assert_eq!(outcome.totals.flows_finished, 8);
    // Both lists have an end at every multiple of 70 us.
    let end_ps = outcome.totals.end_ps / (70 * PS_PER_US) * (70 * PS_PER_US);
    for spine in 0..SPINES {
        let recorded = outcome
            .ports
            .iter()
            .filter(|record| record.port == up(spine) && record.start_ps + record.length_ps <= end_ps);
        let recorded: u64 = recorded.map(|record| record.sent_bytes).sum();
        let seen = weigher.seen.iter().filter(|(now_ps, ..)| *now_ps <= end_ps);
        let seen: u64 = seen.map(|(.., stats)| stats[spine as usize].sent_bytes).sum();
        assert_eq!(seen, recorded, "spine {spine}");
        assert!(seen > 0);
    }
    let mut groups: Vec<u32> = Vec::new();
    for (now_ps, group, weights, stats) in &weigher.seen {
        let us = now_ps / PS_PER_US;
        assert_eq!(stats[1].rate_bps, if us < 205 { 10_000_000_000 } else { 1_000_000_000 }, "{us} us");
        // It dies here and at once, and is used again when routing has learned that it can be.
        let dead = (305..622).contains(&us);
        assert_eq!(stats[2].up, !dead, "{us} us");
        assert_eq!(weights[2], u64::from(!dead), "{us} us");
        groups.push(*group);
    }
    // One group is asked about at a time: none that routing has replaced.
    let times: Vec<u64> = weigher.seen.iter().map(|(now_ps, ..)| *now_ps).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == EPOCH_PS), "{times:?}");
    groups.dedup();
    assert_eq!(groups.len(), 3, "routing learned three times, and two changed its weights: {groups:?}");
}

#[test]
fn weights_for_what_is_dead_count_for_nothing() {
    let flows: Vec<Flow> = (0..8).map(|i| flow(i % 4, 4 + i % 4, 500_000, 0)).collect();
    for table in [Table::MinMove, TURNS, Table::Deficit] {
        for granularity in [Granularity::Flow, CELLS, Granularity::Packet] {
            let mut settings = with(granularity, table, tcp());
            settings.changes = vec![Change { at_ps: 105 * PS_PER_US, what: What::PortDown(up(0)) }];
            settings.observe.interval_ps = 105 * PS_PER_US;
            // All on spine 0 until the next epoch finds it dead: routing's weights stand in meanwhile.
            let mut weigher = told(|now_ps| {
                Some(if now_ps < 110 * PS_PER_US { vec![1, 0, 0, 0] } else { vec![7, 2, 0, 0] })
            });
            let outcome = weighed(&mut weigher, &flows, &settings);
            let name = format!("{:?}", settings.balancing);
            assert_eq!(outcome.totals.flows_finished, 8, "{name}");
            let totals = outcome.totals;
            let gone =
                totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left;
            assert_eq!(totals.sent_packets, gone, "{name}");
            let sent = |spine: u32, late: bool| -> u64 {
                let of_port = outcome.ports.iter().filter(|record| record.port == up(spine));
                let then = of_port.filter(|record| (record.start_ps >= 105 * PS_PER_US) == late);
                then.map(|record| record.sent_packets).sum()
            };
            assert!(sent(0, false) > 0 && sent(0, true) == 0, "{name}");
            assert_eq!([sent(1, false), sent(2, false), sent(3, false)], [0; 3], "{name}");
            assert!(sent(1, true) > 0, "{name}");
        }
    }
}

/// Sends flow f to member f mod n; keeps what it was shown.
#[derive(Default)]
struct ByFlow {
    packets: Vec<PickedPacket>,
    random: Vec<u32>,
}

impl Picker for ByFlow {
    fn pick(&mut self, packet: &PickedPacket, view: &mut View<'_>) -> u16 {
        self.packets.push(*packet);
        self.random.push(view.random_u32());
        (packet.flow % view.ports.len() as u32) as u16
    }
}

fn picked(picker: &mut dyn Picker, flows: &[Flow], settings: &Settings) -> Outcome {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    simulate_picked(picker, &fabric, flows, settings, &Progress::default()).unwrap()
}

#[test]
fn a_picker_knows_whose_packets_it_sees_and_is_obeyed() {
    let flows = [
        flow(0, 4, 10_000, 0),
        flow(1, 5, 20_000, 0),
        flow(5, 1, 30_000, 0),
        // The same persistent connection, later.
        flow(0, 4, 40_000, 900 * PS_PER_US),
    ];
    let transport = Transport::Tcp(Tcp { persistent: true, ..Tcp::plain(Control::NewReno) });
    let mut picker = ByFlow::default();
    let outcome = picked(&mut picker, &flows, &with(Granularity::Packet, Table::Uniform, transport));
    assert_eq!(outcome.totals.flows_finished, 4);
    for (index, record) in (0u32..).zip(&outcome.flows) {
        assert_eq!(record.paths, 1);
        let Flow { src, dst, size_bytes, .. } = flows[index as usize];
        let of_flow: Vec<&PickedPacket> =
            picker.packets.iter().filter(|packet| packet.flow == index).collect();
        let data = of_flow.iter().filter(|packet| packet.kind == Kind::Data);
        let forth: u64 = data.map(|packet| u64::from(packet.payload_bytes)).sum();
        assert_eq!(forth, size_bytes);
        for packet in of_flow {
            let ends = if packet.kind == Kind::Data { (src, dst) } else { (dst, src) };
            assert_eq!((packet.src, packet.dst, packet.flow_bytes), (ends.0, ends.1, size_bytes));
        }
    }
    // Data of flows 0 and 1 and acknowledgements of flow 2 leave leaf 0 by its first three ports, flow 3 by the last.
    let frames = |bytes: u64| bytes.div_ceil(1448);
    let sent = uplinks(&outcome);
    assert_eq!([sent[0], sent[1], sent[3]], [frames(10_000), frames(20_000), frames(40_000)]);
    assert!(sent[2] > 0);
}

#[test]
fn decisions_hold_for_what_the_scenario_keeps_together() {
    let flows = [flow(0, 4, 8 * 65_536, 0), flow(1, 5, 65_536, 0)];
    for (granularity, decisions) in [(Granularity::Flow, 2), (CELLS, 9), (Granularity::Packet, 363 + 46)] {
        let mut picker = ByFlow::default();
        picked(&mut picker, &flows, &with(granularity, Table::Uniform, udp(1_000_000_000)));
        assert_eq!(picker.packets.len(), decisions, "{granularity:?}");
        let mut again = ByFlow::default();
        picked(&mut again, &flows, &with(granularity, Table::Uniform, udp(1_000_000_000)));
        assert_eq!((again.packets, again.random), (picker.packets, picker.random));
    }
}

/// The shortest queue of those that are up, ties by chance.
struct Shortest;

impl Picker for Shortest {
    fn pick(&mut self, _packet: &PickedPacket, view: &mut View<'_>) -> u16 {
        let members = 0..view.ports.len() as u16;
        let up: Vec<u16> = members.filter(|&member| view.up(member)).collect();
        let key = |&member: &u16| (view.backlog_bytes(member), view.random_u32());
        up.into_iter().min_by_key(key).unwrap_or(0)
    }
}

#[test]
fn a_picker_sees_queues_and_what_died() {
    let flows: Vec<Flow> = (0..4).map(|i| flow(i, 4 + i, 4_000_000, 0)).collect();
    let settings = with(Granularity::Packet, Table::Uniform, udp(9_000_000_000));
    let outcome = picked(&mut Shortest, &flows, &settings);
    let longest = |outcome: &Outcome| {
        let records = outcome.ports.iter().filter(|record| (0..SPINES).any(|spine| record.port == up(spine)));
        records.map(|record| record.backlog_max_bytes).max().unwrap()
    };
    // Four frames in four queues: whoever sees all of them never waits behind more than one.
    assert!(longest(&outcome) <= 2 * 1518, "{}", longest(&outcome));
    let flows: Vec<Flow> = (0..4).map(|i| flow(i, 4 + i, 1_000_000, 0)).collect();
    for granularity in [Granularity::Flow, CELLS, Granularity::Packet] {
        let mut settings = with(granularity, Table::Uniform, tcp());
        settings.routing_delay_ps = 30 * PS_PER_US;
        // Here, and beyond the spine, where leaf 0 learns of it late.
        let beyond = uplink(2, SPINES, HOSTS_PER_LEAF, 1, 2) + 1;
        settings.changes = vec![
            Change { at_ps: 100 * PS_PER_US, what: What::PortDown(up(0)) },
            Change { at_ps: 100 * PS_PER_US, what: What::PortDown(beyond) },
        ];
        settings.observe.interval_ps = 130 * PS_PER_US;
        let outcome = picked(&mut Shortest, &flows, &settings);
        assert_eq!(outcome.totals.flows_finished, 4, "{granularity:?}");
        let late = |port: u32| -> u64 {
            let records = outcome.ports.iter().filter(|record| record.port == port);
            records.filter(|record| record.start_ps > 130 * PS_PER_US).map(|record| record.sent_packets).sum()
        };
        assert_eq!([late(up(0)), late(up(2))], [0, 0], "{granularity:?}");
    }
}

#[test]
fn packets_sent_to_dead_members_are_lost_and_counted() {
    let flows = [flow(0, 4, 100 * 1448, 0)];
    let mut settings = with(Granularity::Packet, Table::Uniform, udp(1_000_000_000));
    settings.changes = vec![Change { at_ps: 0, what: What::PortDown(up(0)) }];
    let outcome = picked(&mut ByFlow::default(), &flows, &settings);
    assert_eq!((outcome.totals.lost_packets, outcome.totals.flows_finished), (100, 0));
}

#[test]
fn a_picker_ends_the_run_by_cancelling_it() {
    struct Gives<'a>(&'a Progress, u64);
    impl Picker for Gives<'_> {
        fn pick(&mut self, _packet: &PickedPacket, _view: &mut View<'_>) -> u16 {
            self.0.cancel();
            self.1 += 1;
            0
        }
    }
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    let progress = Progress::default();
    let flows = [flow(0, 4, 1_000_000_000, 0)];
    let settings = with(Granularity::Packet, Table::Uniform, tcp());
    let outcome = simulate_picked(&mut Gives(&progress, 0), &fabric, &flows, &settings, &progress).unwrap();
    assert_eq!(outcome.totals.flows_finished, 0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let fabric = leaf_spine(2, SPINES, HOSTS_PER_LEAF, TEN_GIG);
    let flows = [flow(0, 4, 1_000_000, 0)];
    let refused = |say: Vec<u64>, settings: &Settings| {
        let mut weigher = told(|_| Some(say.clone()));
        let done = simulate_weighed(&mut weigher, &fabric, &flows, settings, &Progress::default());
        done.unwrap_err().to_string()
    };
    let settings = with(Granularity::Packet, TURNS, tcp());
    assert!(
        refused(vec![1, 2, 3], &settings).contains("weights: 3 for 4 members; return one weight per member")
    );
    assert!(refused(vec![0; 4], &settings).contains("leave no member that is up"));
    let scoring = with(Granularity::Flow, Table::Scoring, tcp());
    assert!(refused(vec![1 << 20; 4], &scoring).contains("above 65535"));
    assert!(refused(vec![1; 4], &with(Granularity::Flow, Table::Uniform, tcp())).contains("min-move"));
    let mut ideal = settings;
    ideal.balancing.scheme = Scheme::new(Ideal);
    assert!(refused(vec![1; 4], &ideal).contains("choose granularity and table instead"));
    ideal.balancing.weighing = Weighing::Capacity;
    assert!(simulate_with::<Uniform>((), &fabric, &flows, &ideal, &Progress::default()).is_err());
    assert!(simulate(&fabric, &flows, &ideal, &Progress::default()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    /// No packet is lost unaccounted and every flow ends, whatever weights come from outside, and whatever
    /// dies and returns.
    #[test]
    fn arbitrary_weights_survive_failures(
        seed: u32,
        granularity in prop::sample::select(&[
            Granularity::Flow, Granularity::Flowlet { gap_ns: 20_000 }, CELLS, Granularity::Packet,
        ]),
        table in prop::sample::select(&[
            Table::MinMove, Table::Valo, Table::Wcmp { entries: 64 }, Table::Intervals, TURNS, Table::Deficit,
            Table::ShortestQueue { samples: 2, memory: 1 },
        ]),
        dead in 0..SPINES,
        down_us in 0u64..500,
        repair_us in 1u64..500,
        delay_us in 0u64..100,
    ) {
        let flows: Vec<Flow> =
            (0..12).map(|i| flow(i % 4, 4 + (i + i / 4) % 4, 300_000, u64::from(i) * 20 * PS_PER_US)).collect();
        let mut settings = with(granularity, table, tcp());
        settings.routing_delay_ps = delay_us * PS_PER_US;
        settings.changes = vec![
            Change { at_ps: down_us * PS_PER_US, what: What::PortDown(up(dead)) },
            Change { at_ps: (down_us + repair_us) * PS_PER_US, what: What::PortUp(up(dead)) },
        ];
        let mut draw = seed;
        let mut next = || {
            draw = draw.wrapping_add(1);
            mix::finalise(draw)
        };
        // One of those that stay alive weighs something.
        let mut weigher = told(|_| {
            let mut weights: Vec<u64> = (0..SPINES).map(|_| u64::from(next() % 4)).collect();
            weights[((dead + 1) % SPINES) as usize] += 1;
            (next() % 3 > 0).then_some(weights)
        });
        let totals = weighed(&mut weigher, &flows, &settings).totals;
        let gone = totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left;
        prop_assert_eq!(totals.sent_packets, gone);
        prop_assert_eq!(totals.flows_finished, flows.len() as u64);
    }
}
