//! Workload graphs in the engine: against closed forms on an empty fabric, and against the lists of flows that wait for
//! each other.

use super::setup::{PS_PER_US, TEN_GIG, leaf_spine, run, settings, udp};
use anabranch_fabric::Fabric;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Outcome, WorkRecord};
use anabranch_traffic::workload::{Job, PlacedWork, RingAllReduce};
use anabranch_traffic::{Flow, Workload};
use anabranch_work::collective::{Algorithm, Collective, Kind, steps};
use anabranch_work::{Act, Graph, goal};
use proptest::prelude::*;
use std::sync::Arc;

fn placed(graph: Graph, hosts: Vec<u32>, start_ps: u64) -> PlacedWork {
    PlacedWork { graph: Arc::new(graph), hosts, start_ps, ordered: true }
}

/// Runs jobs over a transport; returns their flows, in the order of the jobs, and the outcome.
fn worked(fabric: &Fabric, works: Vec<PlacedWork>, transport: Transport) -> (Vec<Flow>, Outcome) {
    let jobs: Vec<Workload> =
        works.iter().map(|work| Workload::Graph(Job { work: work.clone(), transport: 0 })).collect();
    let flows = anabranch_traffic::merged_flows(&jobs, fabric, 1).unwrap();
    let settings = anabranch_balancers::Settings { works, ..settings(transport) };
    let outcome = run(fabric, &flows, &settings);
    (flows, outcome)
}

fn end_ps(record: &WorkRecord) -> u64 {
    record.times.iter().map(|times| times.end_ps).max().unwrap()
}

/// Datagrams at line rate under one leaf: 10 Gbit/s and 1 us a link, frames of 1538 B on the wire, store and forward.
fn message_ps(frames: u64) -> u64 {
    2 * PS_PER_US + (frames + 1) * 1538 * 800
}

/// Under one switch nothing contends in rings and in halving and doubling: alpha is two links and one more frame's time,
/// beta the time of frames of 1538 B for 1448 B of payload. Exactly.
#[test]
fn collectives_under_one_switch_take_alpha_and_beta() {
    let fabric = leaf_spine(1, 1, 8, TEN_GIG);
    let time = |kind, algorithm, part_frames: u64| {
        let collective = Collective::new(kind, algorithm, 8 * part_frames * 1448);
        let graph = steps(8, 1, 0, |_| vec![collective.clone()]).unwrap();
        let (flows, outcome) = worked(&fabric, vec![placed(graph, (0..8).collect(), 0)], udp(10_000_000_000));
        assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
        end_ps(&outcome.works[0])
    };
    for frames in [1, 7, 100] {
        let ring = message_ps(frames);
        assert_eq!(time(Kind::AllReduce, Algorithm::Ring, frames), 14 * ring);
        assert_eq!(time(Kind::AllGather, Algorithm::Ring, frames), 7 * ring);
        assert_eq!(time(Kind::ReduceScatter, Algorithm::Ring, frames), 7 * ring);
        assert_eq!(time(Kind::AllToAll, Algorithm::Pairwise, frames), 7 * ring);
        let halved: u64 = [4, 2, 1].iter().map(|parts| message_ps(parts * frames)).sum();
        assert_eq!(time(Kind::AllReduce, Algorithm::HalvingDoubling, frames), 2 * halved);
        assert_eq!(time(Kind::Broadcast, Algorithm::Tree, frames), 3 * message_ps(8 * frames));
        assert_eq!(time(Kind::Broadcast, Algorithm::Ring, frames), 7 * message_ps(8 * frames));
    }
}

/// The ring as a list of flows that wait for each other, and as a graph: under one switch, where paths cannot differ,
/// every message begins and ends at the same picosecond.
#[test]
fn a_ring_under_one_switch_is_the_list_of_flows_to_the_picosecond() {
    let fabric = leaf_spine(1, 1, 6, TEN_GIG);
    let workers = vec![0, 5, 2, 4, 3, 1];
    let list = RingAllReduce {
        workers: workers.clone(),
        bytes: 6 * 300_000,
        iterations: 1,
        compute_ps: 0,
        start_ps: 2000,
        transport: 0,
    };
    let tcp = Transport::Tcp(Tcp::plain(Control::NewReno));
    let listed = Workload::RingAllReduce(list).flows(&fabric, 1).unwrap();
    let expected = run(&fabric, &listed, &settings(tcp.clone()));
    let collective = Collective::new(Kind::AllReduce, Algorithm::Ring, 6 * 300_000);
    let graph = steps(6, 1, 0, |_| vec![collective.clone()]).unwrap();
    let work = PlacedWork { ordered: false, ..placed(graph, workers, 2000) };
    let (flows, outcome) = worked(&fabric, vec![work], tcp);
    let spans = |flows: &[Flow], outcome: &Outcome| {
        let mut spans: Vec<(u32, u64, u64)> = flows
            .iter()
            .zip(&outcome.flows)
            .map(|(flow, record)| (flow.src, record.start_ps, record.fct_ps))
            .collect();
        spans.sort_unstable();
        spans
    };
    assert_eq!(spans(&flows, &outcome), spans(&listed, &expected));
}

/// Ranks are serial processors, a send ends when it is delivered, and what may start with a start does not wait for the
/// end.
#[test]
fn computing_and_messages_follow_each_other() {
    let text = "num_ranks 2\nrank 0 {\na: calc 5000\nb: calc 3000\ns: send 1448b to 1 tag 0\nt: send 1448b to 1 tag 1\n\
                c: calc 100\ns requires a\nt irequires s\nc requires s\n}\nrank 1 {\nr: recv 1448b from -1 tag 1\n\
                q: recv 1448b from 0 tag -1\nd: calc 10\nd requires r\nd requires q\n}\n";
    let graph = goal::read_text(text, "w.goal").unwrap();
    graph.check().unwrap();
    let fabric = leaf_spine(1, 1, 2, TEN_GIG);
    let (_, outcome) = worked(&fabric, vec![placed(graph, vec![0, 1], 7000)], udp(10_000_000_000));
    let times = &outcome.works[0].times;
    let frame_ps = 1538 * 800;
    let sent = 7000 + 5_000_000;
    assert_eq!(times[1].end_ps, 7000 + 8_000_000);
    assert_eq!((times[2].start_ps, times[2].end_ps), (sent, sent + message_ps(1)));
    // The second message leaves behind the first, from the same card.
    assert_eq!((times[3].start_ps, times[3].end_ps), (sent, sent + message_ps(1) + frame_ps));
    assert_eq!(times[4].start_ps, (7000 + 8_000_000).max(sent + message_ps(1)));
    assert_eq!(times[7].end_ps, sent + message_ps(1) + frame_ps + 10_000);
}

/// Two jobs beside each other, a step each; every message of both is one flow that ends.
#[test]
fn several_jobs_run_side_by_side() {
    let fabric = leaf_spine(2, 2, 4, TEN_GIG);
    let job = |hosts: Vec<u32>, start_ps| {
        let collective = Collective::new(Kind::AllToAll, Algorithm::Direct, 400_000);
        let graph = steps(4, 2, 20 * PS_PER_US, |_| vec![collective.clone(), collective.clone()]).unwrap();
        placed(graph, hosts, start_ps)
    };
    let works = vec![job(vec![0, 2, 4, 6], 0), job(vec![1, 3, 5, 7], 5 * PS_PER_US)];
    let (flows, outcome) = worked(&fabric, works.clone(), Transport::Tcp(Tcp::plain(Control::NewReno)));
    assert_eq!(flows.len(), 2 * 2 * 2 * 12);
    assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
    for (work, record) in works.iter().zip(&outcome.works) {
        assert!(record.times.iter().all(|times| times.end_ps != u64::MAX && times.start_ps >= work.start_ps));
        // Nothing starts before what it requires has ended.
        for node in 0..work.graph.nodes().len() as u32 {
            for &after in work.graph.after_end(node) {
                let times = &record.times;
                assert!(times[after as usize].start_ps >= times[node as usize].end_ps);
            }
        }
    }
}

/// Datagrams that are lost are not sent again: the job stops, and so does the simulation.
#[test]
fn a_job_whose_message_is_lost_stays_unfinished() {
    let link = super::setup::Link {
        buffer: anabranch_fabric::Buffer { bytes: 3000, ..anabranch_fabric::Buffer::UNLIMITED },
        ..TEN_GIG
    };
    let fabric = leaf_spine(1, 1, 8, link);
    let collective = Collective::new(Kind::AllToAll, Algorithm::Direct, 8 * 100_000);
    let graph = steps(8, 2, 0, |_| vec![collective.clone()]).unwrap();
    let (flows, outcome) = worked(&fabric, vec![placed(graph, (0..8).collect(), 0)], udp(10_000_000_000));
    assert!(outcome.totals.dropped_packets > 0);
    assert!(outcome.totals.flows_finished < flows.len() as u64);
    assert!(outcome.works[0].times.iter().any(|times| times.end_ps == u64::MAX));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every byte of every message is delivered once, whatever the collective, the placement and the transport's losses.
    #[test]
    fn every_message_is_delivered_once(
        kind in prop::sample::select(Kind::ALL.to_vec()),
        which in any::<prop::sample::Index>(),
        hosts in Just((0..8u32).collect::<Vec<_>>()).prop_shuffle(),
        bytes in 100u64..200_000,
    ) {
        let algorithm = *which.get(kind.algorithms());
        let collective = Collective { group: 2, ..Collective::new(kind, algorithm, bytes) };
        let graph = steps(8, 2, PS_PER_US, |_| vec![collective.clone()]).unwrap();
        let link = super::setup::Link { buffer: anabranch_fabric::Buffer { bytes: 20_000, ..anabranch_fabric::Buffer::UNLIMITED }, ..TEN_GIG };
        let fabric = leaf_spine(2, 2, 4, link);
        let (messages, sum) = graph.messages();
        let work = placed(graph, hosts, 0);
        let (flows, outcome) = worked(&fabric, vec![work.clone()], Transport::Tcp(Tcp::plain(Control::NewReno)));
        prop_assert_eq!(outcome.totals.flows_finished, messages);
        prop_assert_eq!(outcome.flows.iter().map(|flow| flow.received_bytes).sum::<u64>(), sum);
        prop_assert_eq!(flows.iter().map(|flow| flow.size_bytes).sum::<u64>(), sum);
        prop_assert!(outcome.works[0].times.iter().all(|times| times.end_ps != u64::MAX));
        let receives = work.graph.nodes().iter().filter(|node| matches!(node.act, Act::Recv { .. })).count();
        prop_assert_eq!(receives as u64, messages);
    }
}
