//! Network cards of hosts: whose turn it is, what waits where, and what a bounded FIFO does instead.

use super::setup::*;
use anabranch_balancers::Settings;
use anabranch_fabric::{Buffer, Change, Fabric, Marking, Rate, What};
use anabranch_sim::transport::uec::Uec;
use anabranch_sim::transport::{Control, Mptcp, Tcp, Transport};
use anabranch_sim::{Framing, Nic, Observe, Outcome, Queueing};
use proptest::prelude::*;

const MB: u64 = 1_000_000;
/// A full frame with preamble and gap at 10 Gbit/s.
const FRAME_PS: u64 = 1538 * 800;

fn fair(packets: u32) -> Nic {
    Nic { queueing: Queueing::Fair { limit: Buffer { packets, ..Buffer::UNLIMITED } }, jitter: false }
}

/// A fabric whose ports, those of hosts too, have so much room and mark from so many packets on.
fn bounded(packets: u32, mark_packets: u32) -> Fabric {
    let marking = match mark_packets {
        u32::MAX => Marking::Off,
        packets => Marking::Step { bytes: u32::MAX, packets },
    };
    leaf_spine(2, 2, 3, Link { buffer: Buffer { packets, ..Buffer::UNLIMITED }, marking, ..TEN_GIG })
}

fn newreno() -> Transport {
    Transport::Tcp(Tcp { window_max_bytes: 6 << 20, ..Tcp::plain(Control::NewReno) })
}

fn under(nic: Nic, transport: Transport) -> Settings {
    Settings { nic, ..settings(transport) }
}

/// The record of host 0's port.
fn card(outcome: &Outcome) -> anabranch_sim::PortRecord {
    outcome.ports[0]
}

fn same_totals(outcome: &Outcome) {
    let totals = outcome.totals;
    let ends = totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left;
    assert_eq!(totals.sent_packets, ends);
}

/// Today's endless FIFO has the small flow wait for megabytes of the elephant's window.
#[test]
fn a_small_flow_does_not_wait_for_its_hosts_elephant() {
    let fabric = leaf_spine(2, 1, 2, TEN_GIG);
    let flows = [flow(0, 2, 60 * MB, 0), flow(0, 3, 14_480, 20_000 * PS_PER_US)];
    let small_ps = |nic| run(&fabric, &flows, &under(nic, newreno())).flows[1].fct_ps;
    let alone_ps = run(&fabric, &[flow(0, 3, 14_480, 0)], &under(fair(2), newreno())).flows[0].fct_ps;
    // Ten frames of its own, as many turns of the elephant, and what the card had given to its port before.
    let share_ps = alone_ps + (10 + 5 + 2) * FRAME_PS;
    let (fair_ps, endless_ps) = (small_ps(fair(2)), small_ps(Nic::FIFO));
    assert!(fair_ps <= share_ps, "{fair_ps} ps beside an elephant, {alone_ps} ps alone");
    assert!(fair_ps >= alone_ps);
    assert!(endless_ps > 20 * fair_ps, "{endless_ps} ps in an endless queue, {fair_ps} ps");
}

/// Equal flows that leave one host for different hosts end within a few turns of each other, whatever else differs.
#[test]
fn connections_of_a_host_share_it_evenly() {
    let fabric = leaf_spine(2, 4, 6, TEN_GIG);
    let dctcp = Transport::Tcp(Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }));
    for (nic, transport) in [(fair(2), newreno()), (fair(2), dctcp.clone()), (Nic::RDMA, dctcp)] {
        // One begins long before the others and has the largest window by then.
        let mut flows = vec![flow(0, 6, 400 * MB, 0)];
        flows.extend((1..6).map(|i| flow(0, 6 + i, 5 * MB, 10_000 * PS_PER_US + u64::from(i))));
        let outcome = run(&fabric, &flows, &under(nic, transport));
        let fcts: Vec<u64> = outcome.flows[1..].iter().map(|record| record.fct_ps).collect();
        let (least, most) = (*fcts.iter().min().unwrap(), *fcts.iter().max().unwrap());
        let frames = 5 * MB / 1448;
        // Six share the port until the five end.
        let share_ps = 6 * frames * FRAME_PS;
        assert!(most - least < share_ps / 100, "{fcts:?}");
        assert!(least.abs_diff(share_ps) < share_ps / 50, "{fcts:?}, a share is {share_ps}");
    }
}

/// A receiver's acknowledgements get their turns between the full frames of what its host sends.
#[test]
fn acknowledgements_take_turns_with_data() {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let outgoing = [flow(0, 2, 50 * MB, 0), flow(0, 3, 50 * MB, 0), flow(0, 1, 50 * MB, 0)];
    let incoming = flow(2, 0, 10 * MB, 5_000 * PS_PER_US);
    let flows: Vec<_> = outgoing.into_iter().chain([incoming]).collect();
    let alone_ps = run(&fabric, &[incoming], &under(fair(2), newreno())).flows[0].fct_ps;
    let beside_ps = run(&fabric, &flows, &under(fair(2), newreno())).flows[3].fct_ps;
    assert!(beside_ps < alone_ps + alone_ps / 10, "{beside_ps} beside, {alone_ps} alone");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// No more than its limit of each connection, and five frames in the port: in bytes as in packets, and also
    /// where losses are repaired.
    #[test]
    fn a_connection_lets_no_more_wait_than_its_limit(
        flows in 1u32..8,
        limit_packets in 1u32..12,
        by_bytes in any::<bool>(),
        buffer in 8u32..100,
        kind in 0usize..4,
    ) {
        let link = Link { buffer: Buffer { packets: buffer, ..Buffer::UNLIMITED }, ..TEN_GIG };
        let fabric = leaf_spine(2, 2, 8, link);
        let transport = match kind {
            0 => newreno(),
            1 => Transport::Tcp(Tcp { sack: false, ..Tcp::plain(Control::NewReno) }),
            2 => Transport::Mptcp(Mptcp { subflows: 3, ..Mptcp::plain() }),
            _ => udp(9_000_000_000),
        };
        let subflows = if kind == 2 { 3 } else { 1 };
        let limit = match by_bytes {
            true => Buffer { bytes: limit_packets * 1518, ..Buffer::UNLIMITED },
            false => Buffer { packets: limit_packets, ..Buffer::UNLIMITED },
        };
        let list: Vec<_> = (0..flows).map(|i| flow(0, 8 + i % 2, MB, 0)).collect();
        let nic = Nic { queueing: Queueing::Fair { limit }, jitter: false };
        let mut settings = under(nic, transport);
        settings.end_ps = 3_000_000 * PS_PER_US;
        let outcome = run(&fabric, &list, &settings);
        same_totals(&outcome);
        let most = u64::from(flows * subflows * limit_packets + 6) * 1518;
        prop_assert!(card(&outcome).backlog_max_bytes <= most, "{} above {most}", card(&outcome).backlog_max_bytes);
        if kind != 3 {
            prop_assert_eq!(outcome.totals.flows_finished, u64::from(flows));
        }
    }
}

/// Records of a port cover what waits in its host's card: the mean backlog by Little's law, and samples.
#[test]
fn records_count_what_waits_in_the_card() {
    let fabric = leaf_spine(2, 2, 6, TEN_GIG);
    let flows: Vec<_> = (0..5).map(|i| flow(0, 6 + i, 20 * MB, 0)).collect();
    let mut settings = under(fair(10), newreno());
    settings.observe = Observe {
        interval_ps: 1_000 * PS_PER_US,
        queue_ports: vec![0],
        queue_sample_ps: 10 * PS_PER_US,
        ..Observe::default()
    };
    let outcome = run(&fabric, &flows, &settings);
    // From the third millisecond on, five connections have ten packets each in the card, and up to five are with the port.
    let full = |bytes: u64| (45 * 1518..=56 * 1518).contains(&bytes);
    let middle = |start_ps: u64| (3_000 * PS_PER_US..60_000 * PS_PER_US).contains(&start_ps);
    for record in outcome.ports.iter().filter(|record| record.port == 0 && middle(record.start_ps)) {
        let mean = (record.backlog_byte_ps / u128::from(record.length_ps)) as u64;
        assert!(full(mean) && full(record.backlog_max_bytes), "{record:?}");
    }
    for sample in outcome.queues.iter().filter(|sample| middle(sample.time_ps)) {
        assert!(full(sample.backlog_bytes), "{sample:?}");
    }
}

/// A sender of datagrams blocks while its share of the card is full, so two of them share the port evenly and nothing
/// is dropped; a bounded FIFO drops what does not fit.
#[test]
fn datagrams_block_in_a_fair_card_and_are_dropped_by_a_fifo() {
    let fabric = leaf_spine(2, 2, 3, TEN_GIG);
    let flows = [flow(0, 3, 20 * MB, 0), flow(0, 4, 20 * MB, 0)];
    let outcome = run(&fabric, &flows, &under(fair(2), udp(9_000_000_000)));
    let [one, other] = [0, 1].map(|flow| outcome.flows[flow].fct_ps);
    assert!(one.abs_diff(other) <= 4 * FRAME_PS, "{one} and {other}");
    assert_eq!(outcome.totals.dropped_packets, 0);
    assert!(card(&outcome).backlog_max_bytes <= 10 * 1518);
    let mut settings = under(Nic::FIFO, udp(9_000_000_000));
    settings.end_ps = 16_000 * PS_PER_US;
    let dropped = run(&bounded(20, u32::MAX), &flows, &settings);
    assert!(card(&dropped).dropped_packets > 10_000, "{:?}", card(&dropped));
    assert!(card(&dropped).backlog_max_bytes <= 20 * 1518);
    same_totals(&dropped);
}

/// The marks of a host's own queue hold DCTCP's window down as a switch's do.
#[test]
fn a_fifo_marks_at_the_host() {
    let flows = [flow(0, 3, 30 * MB, 0), flow(0, 4, 30 * MB, 0)];
    let dctcp = Transport::Tcp(Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 }));
    let outcome = run(&bounded(1000, 65), &flows, &under(Nic::FIFO, dctcp));
    assert!(card(&outcome).marked_packets > 1000, "{:?}", card(&outcome));
    assert_eq!(outcome.totals.dropped_packets, 0);
    assert!(card(&outcome).backlog_max_bytes < 300 * 1518, "{:?}", card(&outcome));
    assert_eq!(outcome.totals.flows_finished, 2);
}

/// A host's link that dies loses what was given to it; one that slows or hurries times the card's turns anew.
#[test]
fn a_card_follows_its_link() {
    let fabric = leaf_spine(2, 2, 3, TEN_GIG);
    let flows = [flow(0, 3, 20 * MB, 0), flow(0, 4, 20 * MB, 0)];
    let rate = |bps| What::PortRate(0, Rate::from_bps(bps).unwrap());
    let at = |ms: u64, what| Change { at_ps: ms * 1_000 * PS_PER_US, what };
    let mut settings = under(fair(2), newreno());
    // For 5 ms 100 kbit/s: a frame takes 123 ms. Its last part leaves at 10 Gbit/s again.
    settings.changes = vec![at(3, rate(100_000)), at(8, rate(10_000_000_000))];
    let slowed = run(&fabric, &flows, &settings);
    settings.changes = vec![at(3, What::PortDown(0)), at(8, What::PortUp(0))];
    let cut = run(&fabric, &flows, &settings);
    settings.changes.clear();
    let free = run(&fabric, &flows, &settings);
    settings.nic = Nic::RDMA;
    settings.changes = vec![at(3, What::PortDown(0)), at(8, What::PortUp(0))];
    let cut_between = run(&fabric, &flows, &settings);
    for outcome in [&slowed, &cut, &free, &cut_between] {
        assert_eq!(outcome.totals.flows_finished, 2);
        same_totals(outcome);
    }
    let end_ps = |outcome: &Outcome| outcome.flows.iter().map(|record| record.fct_ps).max().unwrap();
    let pause_ps = end_ps(&slowed) - end_ps(&free);
    // Timeouts of 5 ms, doubled, may have begun meanwhile.
    assert!((4_990 * PS_PER_US..17_000 * PS_PER_US).contains(&pause_ps), "{pause_ps}");
    assert_eq!(free.totals.lost_packets, 0);
    assert!(cut.totals.lost_packets > 0);
}

/// Connections that end while a repetition of theirs still waits leave no trace in the next one's queue.
#[test]
fn places_are_used_again_while_packets_wait() {
    let link = Link { buffer: Buffer { packets: 12, ..Buffer::UNLIMITED }, ..TEN_GIG };
    let fabric = leaf_spine(3, 2, 3, link);
    let flows: Vec<_> = (0..3000u32)
        .map(|i| flow(i % 9, (i % 9 + 1 + i % 8) % 9, 20_000, u64::from(i) * 3 * PS_PER_US))
        .filter(|flow| flow.src != flow.dst)
        .collect();
    let tcp =
        Tcp { rto_min_ps: 300 * PS_PER_US, rto_initial_ps: 300 * PS_PER_US, ..Tcp::plain(Control::NewReno) };
    for nic in [Nic::FAIR, Nic::RDMA] {
        let outcome = run(&fabric, &flows, &under(nic, Transport::Tcp(tcp.clone())));
        assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
        same_totals(&outcome);
    }
}

#[test]
fn same_seed_same_bits_another_seed_others() {
    let link = Link { buffer: Buffer { packets: 30, ..Buffer::UNLIMITED }, ..TEN_GIG };
    let fabric = leaf_spine(3, 2, 3, link);
    let flows: Vec<_> = (0..40).map(|i| flow(i % 9, (i % 9 + 1 + i % 8) % 9, 200_000, 0)).collect();
    let of_seed = |seed| {
        let outcome = run(&fabric, &flows, &Settings { seed, ..under(Nic::FAIR, newreno()) });
        (outcome.flows, outcome.ports)
    };
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1).0, of_seed(2).0);
}

/// Two hundred connections of a host wait longer for their turn than their timeout: that is no loss.
#[test]
fn what_waits_in_the_card_does_not_time_out() {
    let fabric = leaf_spine(2, 4, 200, TEN_GIG);
    let flows: Vec<_> = (0..200).map(|i| flow(0, 200 + i, 200_000, 0)).collect();
    let tcp =
        Tcp { rto_min_ps: 300 * PS_PER_US, rto_initial_ps: 300 * PS_PER_US, ..Tcp::plain(Control::NewReno) };
    let outcome = run(&fabric, &flows, &under(fair(2), Transport::Tcp(tcp)));
    let timeouts: u32 = outcome.flows.iter().map(|record| record.timeouts).sum();
    assert_eq!((outcome.totals.flows_finished, timeouts), (200, 0));
}

/// An RDMA card takes one packet of each connection in turn, whenever its port is free: a frame of one, a frame of the
/// other from when that began on, and nothing waits at the port. Fair cards are two frames at a time and three ahead.
#[test]
fn an_rdma_card_takes_packets_in_turn() {
    let fabric = leaf_spine(2, 1, 2, TEN_GIG);
    let payload = u64::from(Framing::ETHERNET.payload_bytes_max);
    // Eight frames, and as many of another connection, which begins during the first.
    let flows = [flow(0, 2, 8 * payload, 0), flow(0, 3, 8 * payload, FRAME_PS / 2)];
    let fcts = |nic| {
        let outcome = run(&fabric, &flows, &under(nic, newreno()));
        same_totals(&outcome);
        [0, 1].map(|flow| outcome.flows[flow].fct_ps)
    };
    let alone_ps = run(&fabric, &flows[..1], &under(Nic::RDMA, newreno())).flows[0].fct_ps;
    let [one, other] = fcts(Nic::RDMA);
    // Seven frames of the other before the eighth; then the other's last.
    assert_eq!(one, alone_ps + 7 * FRAME_PS);
    assert_eq!(other, alone_ps + 8 * FRAME_PS - FRAME_PS / 2);
    assert!(fcts(fair(2))[0] < one);
}

/// An RDMA card makes a packet when its turn has come, so that round trips are measured from when it leaves: nothing
/// waits at the host, and a turn of every 250 us is no reason for timeouts of 100 us.
#[test]
fn an_rdma_card_makes_packets_at_their_turn() {
    let fabric = leaf_spine(2, 4, 200, TEN_GIG);
    let flows: Vec<_> = (0..200).map(|i| flow(0, 200 + i, 30_000, 0)).collect();
    let uec = Uec { rto_ps: 100 * PS_PER_US, ack_bytes: 1, ..Uec::DEFAULT };
    let outcome = run(&fabric, &flows, &under(Nic::RDMA, Transport::Uec(uec)));
    let timeouts: u32 = outcome.flows.iter().map(|record| record.timeouts).sum();
    assert_eq!((outcome.totals.flows_finished, timeouts), (200, 0));
    assert_eq!(card(&outcome).backlog_max_bytes, 1518);
    same_totals(&outcome);
}
