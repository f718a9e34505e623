//! Messages that repeat are replayed: against closed forms, and against the same runs packet by packet.

use super::setup::{Link, PS_PER_US, TEN_GIG, flow, leaf_spine, run, settings, udp};
use anabranch_balancers::Settings;
use anabranch_fabric::{Change, Fabric, Rate, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Nic, Outcome, Replay, ReplayRecord};
use anabranch_traffic::workload::{Job, PlacedWork};
use anabranch_traffic::{Flow, Workload};
use anabranch_work::collective::{Algorithm, Collective, Kind, steps};
use anabranch_work::{Graph, goal};
use std::fmt::Write;
use std::sync::Arc;

const REPLAY: Replay = Replay { sample: 0.1, learn: 3, band: 0.03 };

/// Runs a graph over the first hosts, and other flows beside it, with and without replay.
fn both(fabric: &Fabric, graph: Graph, others: &[Flow], settings: &Settings) -> [Outcome; 2] {
    let hosts = (0..graph.ranks()).collect();
    let work = PlacedWork { graph: Arc::new(graph), hosts, start_ps: 0, ordered: true };
    let job = Workload::Graph(Job { work: work.clone(), transport: 0 });
    let mut flows = anabranch_traffic::merged_flows(&[job], fabric, 1).unwrap();
    flows.extend_from_slice(others);
    [None, Some(REPLAY)].map(|replay| {
        let outcome =
            run(fabric, &flows, &Settings { works: vec![work.clone()], replay, ..settings.clone() });
        assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
        outcome
    })
}

fn rings(ranks: u32, iterations: u32, bytes: u64) -> Graph {
    let collective = Collective::new(Kind::AllReduce, Algorithm::Ring, bytes);
    steps(ranks, iterations, 10 * PS_PER_US, |_| vec![collective.clone()]).unwrap()
}

fn tcp() -> Settings {
    Settings { nic: Nic::RDMA, ..settings(Transport::Tcp(Tcp::plain(Control::NewReno))) }
}

fn end_ps(outcome: &Outcome) -> u64 {
    outcome.works[0].times.iter().map(|times| times.end_ps).max().unwrap()
}

fn replay(outcome: &Outcome) -> &ReplayRecord {
    outcome.replay.as_ref().unwrap()
}

fn assert_near(one: u64, other: u64, part: f64) {
    assert!((one as f64 / other as f64 - 1.0).abs() <= part, "{one} is not {other} within {part}");
}

/// Under one switch every message of a ring takes the same, so replay is exact: fourteen times two links of 1 us and 101
/// frames, and the computing, in each of 40 rounds.
#[test]
fn rings_under_one_switch_take_what_the_closed_form_says() {
    let fabric = leaf_spine(1, 1, 8, TEN_GIG);
    let [full, replayed] = both(&fabric, rings(8, 40, 8 * 100 * 1448), &[], &settings(udp(10_000_000_000)));
    let ring_ps = 14 * (2 * PS_PER_US + 101 * 1538 * 800);
    assert_eq!([end_ps(&full), end_ps(&replayed)], [40 * (10 * PS_PER_US + ring_ps); 2]);
    let record = replay(&replayed);
    assert_eq!(record.replayed + record.carried, 8 * 14 * 40);
    assert!(record.carried * 5 < record.replayed, "{record:?}");
    assert!(record.samples.len() > 1 && record.samples.iter().all(|sample| sample.error() == Some(0.0)));
    assert!(replayed.works[0].times == full.works[0].times);
    let counts = |outcome: &Outcome| {
        outcome.flows.iter().map(|flow| (flow.delivered_packets, flow.fct_ps)).collect::<Vec<_>>()
    };
    assert_eq!(counts(&replayed), counts(&full));
}

/// Eight messages that are ready at once go one after the other, and so again in each round: those that follow are known
/// by their distance from the one before.
#[test]
fn messages_in_a_line_keep_their_distance() {
    let mut ranks = [String::new(), String::new()];
    for round in 0..60 {
        for (rank, text) in ranks.iter_mut().enumerate() {
            writeln!(text, "c{round}: calc 5000").unwrap();
            let word = ["send 144800b to 1", "recv 144800b from 0"][rank];
            for message in 0..8 {
                writeln!(text, "m{round}x{message}: {word} tag {}", round * 8 + message).unwrap();
                writeln!(text, "m{round}x{message} requires c{round}").unwrap();
                if round > 0 {
                    writeln!(text, "c{round} requires m{}x{message}", round - 1).unwrap();
                }
            }
        }
    }
    let text = format!("num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n{}}}\n", ranks[0], ranks[1]);
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    let settings = Settings { nic: Nic::RDMA, ..settings(udp(10_000_000_000)) };
    let [full, replayed] = both(&fabric, goal::read_text(&text, "w.goal").unwrap(), &[], &settings);
    assert_eq!(end_ps(&replayed), end_ps(&full));
    assert!(replay(&replayed).replayed > 240, "{:?}", replay(&replayed));
}

/// A job in which nothing repeats is simulated packet by packet, to the bit.
#[test]
fn what_does_not_repeat_is_simulated() {
    let fabric = leaf_spine(4, 4, 4, TEN_GIG);
    let collective = Collective::new(Kind::AllReduce, Algorithm::HalvingDoubling, 2_000_000);
    let graph = steps(16, 1, 0, |_| vec![collective.clone()]).unwrap();
    let [full, replayed] = both(&fabric, graph, &[], &tcp());
    assert_eq!(replay(&replayed).replayed, 0);
    assert_eq!(replayed.flows, full.flows);
    assert_eq!(replayed.ports, full.ports);
    assert_eq!(replayed.totals, full.totals);
}

/// Rings over leaves and spines, where hashing makes some links carry several of the messages: the job takes the same
/// within a hundredth, and each port carries what it carries packet by packet within a twentieth.
#[test]
fn rings_over_shared_links_take_about_the_same_and_so_do_ports() {
    let fabric = leaf_spine(4, 2, 4, TEN_GIG);
    let [full, replayed] = both(&fabric, rings(16, 20, 16 * 150_000), &[], &tcp());
    let record = replay(&replayed);
    assert!(record.carried * 2 < record.replayed, "{record:?}");
    assert_near(end_ps(&replayed), end_ps(&full), 0.01);
    for (replayed, full) in replayed.ports.iter().zip(&full.ports).filter(|(_, full)| full.sent_bytes > 0) {
        assert_near(replayed.sent_bytes, full.sent_bytes, 0.05);
        assert_near(replayed.busy_ps, full.busy_ps, 0.05);
    }
    let bytes = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.received_bytes).sum::<u64>();
    assert_eq!(bytes(&replayed), bytes(&full));
}

/// Intervals in which nothing but replay goes on are no silence: each has what its messages would have sent.
#[test]
fn intervals_have_what_is_replayed_in_them() {
    let fabric = leaf_spine(1, 1, 8, TEN_GIG);
    let mut settings = settings(udp(10_000_000_000));
    settings.observe.interval_ps = 3000 * PS_PER_US;
    let [full, replayed] = both(&fabric, rings(8, 40, 8 * 100 * 1448), &[], &settings);
    assert_eq!(full.ports.len(), replayed.ports.len());
    let whole = full.ports.iter().zip(&replayed.ports).filter(|(full, _)| full.length_ps == 3000 * PS_PER_US);
    for (full, replayed) in whole.filter(|(full, _)| full.sent_bytes > 0) {
        assert_near(replayed.sent_bytes, full.sent_bytes, 0.1);
    }
}

/// A link that slows to a fifth while messages are replayed: what was learned is forgotten, and the rest takes as long as it
/// does packet by packet.
#[test]
fn a_change_of_the_fabric_is_not_replayed_over() {
    let fabric = leaf_spine(1, 1, 8, TEN_GIG);
    let rate = Rate::from_bps(2_000_000_000).unwrap();
    let slow = Change { at_ps: 20_000 * PS_PER_US, what: What::PortRate(0, rate) };
    let settings = Settings { changes: vec![slow], ..tcp() };
    let [full, replayed] = both(&fabric, rings(8, 40, 8 * 150_000), &[], &settings);
    assert!(end_ps(&full) > 2 * 20_000 * PS_PER_US, "{}", end_ps(&full));
    assert_near(end_ps(&replayed), end_ps(&full), 0.01);
    assert!(replay(&replayed).forgotten > 0 && replay(&replayed).replayed > 1000);
}

/// While a flow of another kind is under way, everything is simulated, though it shares no link with what repeats.
#[test]
fn nothing_is_replayed_beside_other_flows() {
    let fabric = leaf_spine(2, 1, 5, Link { rate_bps: 10_000_000_000, ..TEN_GIG });
    let other = flow(8, 9, 20_000_000, 10_000 * PS_PER_US);
    let [full, replayed] = both(&fabric, rings(8, 40, 8 * 150_000), &[other], &tcp());
    let last = replayed.flows.last().unwrap();
    let (from_ps, to_ps) = (last.start_ps, last.start_ps + last.fct_ps);
    let beside = replayed.flows.iter().filter(|flow| (from_ps..to_ps).contains(&flow.start_ps));
    let (mut count, mut replayed_beside) = (0, 0);
    beside.for_each(|flow| {
        count += 1;
        replayed_beside += flow.replayed;
    });
    assert!(count > 100 && replayed_beside == 0, "{replayed_beside} of {count}");
    assert!(replay(&replayed).replayed > 1000);
    assert_near(last.fct_ps, full.flows.last().unwrap().fct_ps, 0.1);
    assert_near(end_ps(&replayed), end_ps(&full), 0.01);
}
