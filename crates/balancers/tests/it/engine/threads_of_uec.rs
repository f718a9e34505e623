//! UEC on several threads: windows of senders, credit of receivers, trimmed packets and what is asked for again have the same
//! bits for any cut of the fabric.

use super::partitions::leaf_spine;
use super::setup::*;
use super::threads::{bursts, by_lot, changes, compare, long_links, outcome, settings_of, short};
use super::threads_of_classes::{classed, lossless, trimming};
use super::threads_of_jobs::{GO_BACK_N, SELECTIVE, relay, ring, roce};
use anabranch_balancers::{Settings, Table};
use anabranch_fabric::topology::{Clos, LinkSettings};
use anabranch_fabric::{Buffer, Fabric, Rate, SharedBuffer, SwitchSettings, What};
use anabranch_sim::transport::control::Law;
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::transport::uec::{Credits, Uec};
use anabranch_sim::transport::{Completion, QueuePairs, Transport};
use anabranch_sim::{Nic, Observe, Outcome, Partition, PortRecord, Queueing};
use anabranch_traffic::Flow;

/// Grants are small, so that pacers have many turns.
const CREDITS: Credits = Credits { grant_bytes: 4096, ..Credits::DEFAULT };

/// Congestion control at senders (NSCC), at receivers (RCCC), and both.
pub(super) fn controls() -> [Uec; 3] {
    let nscc = Uec { rto_ps: 300 * PS_PER_US, ..Uec::DEFAULT };
    let both = Uec { credits: Some(CREDITS), ..nscc };
    [nscc, Uec { law: Law::None, ..both.clone() }, both]
}

fn kept(uec: &Uec) -> Transport {
    Transport::Uec(Uec { queue_pairs: QueuePairs { persistent: true, ..QueuePairs::ONE }, ..uec.clone() })
}

pub(super) fn spraying(fabric: &Fabric, transport: Transport, seed: u64) -> Settings {
    let settings = settings_of(Table::Turns { block: false }, changes(fabric), seed);
    Settings { transports: vec![transport], ..settings }
}

/// The outcome of the whole, which each cut has too.
pub(super) fn same_for_cuts(fabric: &Fabric, flows: &[Flow], settings: &Settings, what: &str) -> Outcome {
    let whole = outcome(fabric, flows, settings, None);
    let seed = settings.seed;
    let cuts = [
        Partition::by_leaves(fabric, 2),
        Partition::by_leaves(fabric, 3),
        by_lot(fabric, seed, 2),
        by_lot(fabric, seed, 5),
    ];
    for (number, cut) in cuts.iter().enumerate() {
        let parts = outcome(fabric, flows, settings, Some(cut));
        compare(&whole, &parts, &format!("{what}, cut {number}"));
        assert_eq!(whole.works, parts.works, "{what}, cut {number}");
    }
    whole
}

/// Ports that trim, that pause and that drop, before every card: links lose frames and die, or change their rate where
/// pauses go.
#[test]
fn flows_over_any_ports_have_the_same_bits() {
    let nics = [Nic { jitter: true, ..Nic::FAIR }, Nic::RDMA, Nic::FIFO];
    let fabrics = [(classed(trimming), false), (classed(lossless), true), (leaf_spine(), false)];
    for (seed, (uec, nic)) in (0..).zip(controls().into_iter().zip(nics)) {
        for (number, (fabric, pauses)) in fabrics.iter().enumerate() {
            let mut settings = spraying(fabric, Transport::Uec(uec.clone()), seed);
            settings.nic = nic;
            if *pauses {
                let stays = |what| matches!(what, What::PortLoss(..) | What::PortRate(..));
                settings.changes.retain(|change| stays(change.what));
            }
            let what = format!("control {seed}, ports {number}");
            let whole = same_for_cuts(fabric, &bursts(fabric)[..96], &settings, &what);
            let sum = |count: fn(&PortRecord) -> u64| whole.ports.iter().map(count).sum::<u64>();
            assert!(whole.totals.lost_packets > 10 && whole.totals.flows_finished > 80, "{what}");
            assert_eq!(sum(|port| port.trimmed_packets) > 100, number == 0, "{what}");
        }
    }
}

/// Flows that finish at their senders, in another part than their last bytes arrive: acknowledgements are lost too, and come
/// when the receiver's part hopes for nothing any more.
#[test]
fn flows_that_finish_when_they_are_acknowledged_have_the_same_bits() {
    let completion = Completion::Acknowledged;
    let uec = controls().map(|uec| Transport::Uec(Uec { completion, ..uec }));
    let roce = [GO_BACK_N, SELECTIVE].map(|recovery| match roce(recovery, false) {
        Transport::Roce(roce) => Transport::Roce(Roce { completion, ..roce }),
        other => other,
    });
    for (seed, transport) in (0..).zip(uec.into_iter().chain(roce)) {
        for fabric in [classed(trimming), long_links()] {
            let settings = spraying(&fabric, transport.clone(), seed);
            let whole =
                same_for_cuts(&fabric, &bursts(&fabric)[..64], &settings, &format!("transport {seed}"));
            let end_ps = whole.flows.iter().map(|record| record.start_ps.saturating_add(record.fct_ps)).max();
            let is_done = whole.totals.flows_finished == 64;
            assert_eq!(end_ps == Some(whole.totals.end_ps), is_done, "the last event finishes a flow");
        }
    }
}

/// Jobs over contexts of each message's own, and over those that are kept; a graph, whose messages follow each other.
#[test]
fn jobs_have_the_same_bits() {
    let fabric = classed(trimming);
    for (seed, uec) in (0..).zip(controls()) {
        for transport in [Transport::Uec(uec.clone()), kept(&uec)] {
            let settings = spraying(&fabric, transport, seed);
            let whole = same_for_cuts(&fabric, &ring(&fabric, 200_000), &settings, "a ring");
            assert!(whole.totals.flows_finished > 100);
        }
        let (flows, settings) = relay(&fabric, Transport::Uec(uec), true);
        assert!(same_for_cuts(&fabric, &flows, &settings, "a graph").totals.flows_finished > 80);
    }
}

/// A round trip takes 80 us. A packet is sent again after 15 and 45 us, and a request for credit is sent after 48: both arrive
/// just after their connection has closed. Hosts go on to grant credit until they know, some so slowly that several
/// connections have closed between two turns.
#[test]
fn a_receiver_grants_no_credit_to_one_who_has_closed() {
    let fabric = long_links();
    let runs =
        (0..).zip(controls()).flat_map(|(seed, uec)| [15, 48].map(|rto_us| (seed, rto_us, uec.clone())));
    for (seed, rto_us, uec) in runs {
        let share = if rto_us == 48 { 0.05 } else { 0.99 };
        let credits = uec.credits.map(|credits| Credits { most_bytes: Some(1), share, ..credits });
        let uec = Uec { rto_ps: rto_us * PS_PER_US, credits, ..uec };
        for transport in [Transport::Uec(uec.clone()), kept(&uec)] {
            let settings = Settings { changes: Vec::new(), ..spraying(&fabric, transport, seed) };
            let what = format!("control {seed}, a timeout of {rto_us} us");
            let whole = same_for_cuts(&fabric, &short(&fabric), &settings, &what);
            let again = whole.flows.iter().map(|record| record.retransmitted_packets).sum::<u64>();
            assert!(again > 200, "{again} sent again");
        }
    }
}

/// Hosts send in the very picosecond in which their port has sent a frame, and its other end is in another part: the frame
/// counts as one that waits until the port's own event.
#[test]
fn a_frame_that_ends_as_its_host_sends_still_waits() {
    let link = LinkSettings { rate: Rate::from_bps(40_000_000_000).unwrap(), ..LinkSettings::default() };
    let topology =
        Clos { pods: 2, leaves_per_pod: 3, aggregations_per_pod: 1, hosts_per_leaf: 1, ..Clos::default() };
    let mut fabric = Clos { host_link: link, uplink: link, core_link: link, ..topology }.build().unwrap();
    let mut switches = SwitchSettings::default();
    lossless(&mut switches);
    switches.shared = Some(SharedBuffer::default());
    fabric.set_switches(Some(switches));
    // Leaves of some hosts are in the other part.
    let cut = Partition::new(vec![1, 0, 0, 0, 1, 1, 1, 0, 1, 0], vec![1, 1, 1, 0, 1, 1]);
    // Sixteen flows of each host to two others, and four to one.
    let of_jobs = (0..64u32).map(|number| {
        let (src, dsts, sizes) = [
            (0, [4, 5], [20_906, 10_453, 10_452, 20_905]),
            (5, [2, 0], [20_906, 10_452, 10_453, 20_905]),
            (4, [0, 2], [20_905, 10_453, 10_453, 20_906]),
            (2, [5, 4], [20_905, 10_453, 10_453, 20_906]),
        ][number as usize / 16];
        let bytes = if number % 16 < 8 { sizes[number as usize % 4] } else { 64 };
        flow(src, dsts[(number as usize).div_ceil(2) % 2], bytes, u64::from(number) * PS_PER_US)
    });
    let incast = [0, 1, 3, 4].map(|src| Flow { transport: 1, ..flow(src, 5, 50_000, 49_139_000) });
    let flows: Vec<Flow> = of_jobs.chain(incast).collect();
    let credits = Some(Credits { share: 1.0, ..Credits::DEFAULT });
    let limit = Buffer { packets: 2, ..Buffer::UNLIMITED };
    for seed in [10, 13, 23] {
        // Windows end when samples are taken.
        let settings = Settings {
            seed,
            nic: Nic { queueing: Queueing::Fair { limit }, jitter: true },
            transports: vec![
                Transport::Uec(Uec { law: Law::None, credits, ..Uec::DEFAULT }),
                Transport::Uec(Uec::DEFAULT),
            ],
            observe: Observe { queue_sample_ps: 10 * PS_PER_US, ..Observe::default() },
            ..settings(Transport::Uec(Uec::DEFAULT))
        };
        let whole = outcome(&fabric, &flows, &settings, None);
        let parts = outcome(&fabric, &flows, &settings, Some(&cut));
        compare(&whole, &parts, &format!("seed {seed}"));
    }
}

/// Answers of one byte are sent in less time than any other frame.
#[test]
fn the_look_ahead_knows_the_shortest_answer() {
    let fabric = super::setup::leaf_spine(2, 1, 2, Link { delay_ps: 1, ..TEN_GIG });
    let settings = settings(Transport::Uec(Uec { answer_bytes: 1, ..Uec::DEFAULT }));
    let flows = [flow(0, 3, 20_000, 0), flow(2, 1, 20_000, 0)];
    same_for_cuts(&fabric, &flows, &settings, "short answers");
}
