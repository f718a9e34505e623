//! MPTCP: what one subflow, two paths, a shared link and a dead link must make of it.

use super::setup::*;
use anabranch_balancers::simulate;
use anabranch_fabric::topology::LeafSpine;
use anabranch_fabric::{Buffer, Change, Fabric, Marking, Rate, What};
use anabranch_sim::transport::{Control, Coupling, Mptcp, Reorder, Tcp, Transport};
use anabranch_sim::{Kind, Nic, Progress};
use anabranch_traffic::Flow;
use proptest::prelude::*;

fn mptcp(subflows: u8, coupling: Coupling, tcp: Tcp) -> Transport {
    Transport::Mptcp(Mptcp { tcp, subflows, coupling })
}

fn newreno() -> Tcp {
    Tcp::plain(Control::NewReno)
}

fn small_buffers(packets: u32) -> Link {
    Link { buffer: Buffer { bytes: u32::MAX, packets }, ..TEN_GIG }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// With one subflow a = 1, and everything is as without MPTCP, event for event: under losses, timeouts, delayed
    /// acknowledgements and small windows, and whichever way losses are found.
    #[test]
    fn one_subflow_is_newreno_to_the_bit(
        sizes in prop::collection::vec((0u32..4, 1u64..2_000_000, 0u64..500), 1..6),
        (sack, rack, handshake, linked) in any::<(bool, bool, bool, bool)>(),
        ack_every in 1u32..3,
        window_segments in 2u64..300,
        buffer in 5u32..60,
        (hold, fair) in any::<(bool, bool)>(),
    ) {
        let fabric = leaf_spine(3, 2, 2, small_buffers(buffer));
        let tcp = Tcp {
            sack,
            rack,
            handshake,
            ack_every,
            ack_delay_ps: 100 * PS_PER_US,
            window_max_bytes: window_segments * 1448 + 7,
            reorder: if hold { Reorder::Hold { timeout_ps: 30 * PS_PER_US } } else { Reorder::None },
            ..newreno()
        };
        let flows: Vec<Flow> =
            sizes.iter().map(|&(src, size, start_us)| flow(src, 4 + src % 2, size, start_us * PS_PER_US)).collect();
        let coupling = if linked { Coupling::Lia } else { Coupling::Uncoupled };
        let [alone, one] = [Transport::Tcp(tcp.clone()), mptcp(1, coupling, tcp)].map(|transport| {
            let mut settings = settings(transport);
            settings.end_ps = 400_000 * PS_PER_US;
            settings.nic = if fair { Nic::FAIR } else { Nic::FIFO };
            settings.observe.window_flows = vec![0];
            run(&fabric, &flows, &settings)
        });
        prop_assert_eq!(alone.flows, one.flows);
        prop_assert_eq!(alone.windows, one.windows);
        prop_assert_eq!(alone.ports, one.ports);
        prop_assert_eq!(alone.totals, one.totals);
    }
}

/// Two leaves, as many spines as asked for; hosts' links are ten times as fast as the spines'.
fn fast_hosts(spines: u32, spine_bps: u64, delay_us: u64, buffer_bytes: u32, marking: Marking) -> Fabric {
    let mut shape = LeafSpine { leaves: 2, spines, hosts_per_leaf: 2, ..LeafSpine::default() };
    for (link, rate_bps) in [(&mut shape.host_link, 10 * spine_bps), (&mut shape.uplink, spine_bps)] {
        link.rate = Rate::from_bps(rate_bps).unwrap();
        link.delay_ps = delay_us * PS_PER_US;
        link.buffer = Buffer { bytes: buffer_bytes, packets: u32::MAX };
        link.marking = marking;
    }
    shape.build().unwrap()
}

/// A seed with which the subflows of flow 0, from host 0 to host 2, take so many paths.
fn seed_with_paths(fabric: &Fabric, subflows: u8, paths: u16) -> u64 {
    let found = (0..200).find(|&seed| {
        let mut settings = settings(mptcp(subflows, Coupling::Lia, newreno()));
        settings.seed = seed;
        run(fabric, &[flow(0, 2, 1_000_000, 0)], &settings).flows[0].paths == paths
    });
    found.unwrap()
}

#[test]
fn two_disjoint_equal_paths_carry_twice_as_much() {
    let fabric = fast_hosts(2, 10_000_000_000, 5, 150_000, Marking::Off);
    let seed = seed_with_paths(&fabric, 2, 2);
    let size = 200_000_000;
    let goodput_bps = |transport| {
        let mut settings = settings(transport);
        settings.seed = seed;
        size as f64 * 8e12 / run(&fabric, &[flow(0, 2, size, 0)], &settings).flows[0].fct_ps as f64
    };
    let link_bps = 1e10 * 1448.0 / 1538.0;
    let one = goodput_bps(Transport::Tcp(newreno()));
    assert!((one / link_bps - 1.0).abs() < 0.02, "{one}");
    for coupling in [Coupling::Lia, Coupling::Uncoupled] {
        let two = goodput_bps(mptcp(2, coupling, newreno()));
        assert!((two / one - 2.0).abs() < 0.06, "{coupling:?}: {two} against {one}");
    }
}

/// Bytes that a flow of MPTCP sends between 1 s and 6 s over those that one of TCP does, both over one link of
/// 1 Gbit/s. It marks by RED, so that both see the same fraction of their packets marked: RFC 6356 reasons with such
/// loss rates. (Where queues overflow instead, those lose that grow just then, and TCP grows oftenest.)
fn share(first: &Transport, seed: u64) -> f64 {
    let red = Marking::Ramp { low_bytes: 5_000, high_bytes: 500_000, probability: 0.05 };
    let fabric = fast_hosts(1, 1_000_000_000, 50, 2_000_000, red);

    let mut settings = settings(first.clone());
    settings.transports.push(Transport::Tcp(Tcp { ecn: true, ..newreno() }));
    settings.seed = seed;
    let size = 1 << 40;
    let flows = [flow(0, 2, size, 0), Flow { transport: 1, ..flow(1, 3, size, 0) }];
    let [before, after] = [1_000_000, 6_000_000].map(|end_us| {
        settings.end_ps = end_us * PS_PER_US;
        run(&fabric, &flows, &settings).flows
    });
    let sent = |flow: usize| (after[flow].sent_bytes - before[flow].sent_bytes) as f64;
    // What slow start loses before is none of it.
    assert!(after[0].marked_packets > 100 && after[0].timeouts == before[0].timeouts, "{:?}", after[0]);
    sent(0) / sent(1)
}

/// RFC 6356's second goal. What is left beyond one share comes with windows of few segments.
#[test]
fn linked_subflows_take_one_connections_share_of_a_link() {
    for subflows in [2, 4, 8] {
        let mean = |coupling| {
            let transport = mptcp(subflows, coupling, Tcp { ecn: true, ..newreno() });
            [2, 3, 4].map(|seed| share(&transport, seed)).iter().sum::<f64>() / 3.0
        };
        let linked = mean(Coupling::Lia);
        assert!((0.8..1.45).contains(&linked), "{subflows} linked subflows take {linked}");
        let uncoupled = mean(Coupling::Uncoupled) / f64::from(subflows);
        assert!((uncoupled - 1.0).abs() < 0.1, "{subflows} subflows by themselves take {uncoupled} each");
    }
}

/// A spine's link down to the other leaf dies for good after 3 ms, and no switch learns of it. Others fill the host's
/// link meanwhile; what was on the dead path waits for its timeout of 5 ms, and goes over them then.
#[test]
fn a_flow_survives_the_death_of_a_path() {
    let (leaves, spines, hosts) = (2, 4, 1);
    let fabric = leaf_spine(leaves, spines, hosts, small_buffers(100));
    let outcome = |transport, size, dead: Option<u32>| {
        let mut settings = settings(transport);
        settings.routing_delay_ps = u64::MAX;
        settings.end_ps = 2_000_000 * PS_PER_US;
        settings.changes = dead
            .map(|spine| uplink(leaves, spines, hosts, 1, spine) + 1)
            .map(|port| Change { at_ps: 3_000 * PS_PER_US, what: What::PortDown(port) })
            .into_iter()
            .collect();
        run(&fabric, &[flow(0, 1, size, 0)], &settings)
    };
    // Over before the timeout would be, if nothing died; and long after.
    let (short, long) = (5_000_000, 20_000_000);
    let whole = outcome(Transport::Tcp(newreno()), long, None);
    let used = |&spine: &u32| whole.ports[uplink(leaves, spines, hosts, 0, spine) as usize].sent_packets > 0;
    let of_tcp = (0..spines).find(used).unwrap();
    let stuck = outcome(Transport::Tcp(newreno()), long, Some(of_tcp)).flows[0];
    assert_eq!(stuck.fct_ps, u64::MAX, "the test wants a path that TCP cannot do without");
    let alive = |coupling, size| outcome(mptcp(8, coupling, newreno()), size, Some(of_tcp)).flows[0];
    assert_ne!(alive(Coupling::Uncoupled, long).fct_ps, u64::MAX);
    let linked = alive(Coupling::Lia, long);
    assert!(linked.timeouts > 0 && linked.retransmitted_packets > 0);
    let late_ps = linked.fct_ps - whole.flows[0].fct_ps;
    assert!(late_ps < 500 * PS_PER_US, "{late_ps}");
    let waits_ps = alive(Coupling::Lia, short).fct_ps;
    assert!((8_000 * PS_PER_US..8_100 * PS_PER_US).contains(&waits_ps), "{waits_ps}");
}

/// The second subflow's SYN follows the answer to the first's; its data follow the answer to its own.
#[test]
fn subflows_join_one_after_the_other_by_ports_of_their_own() {
    let fabric = leaf_spine(2, 4, 1, TEN_GIG);
    let packets = |transport| {
        let mut settings = settings(transport);
        settings.observe.capture_ports = vec![0];
        settings.observe.capture_packets_max = 1000;
        let outcome = run(&fabric, &[flow(0, 1, 1_000_000, 0)], &settings);
        assert_eq!(outcome.totals.flows_finished, 1);
        outcome.captures.iter().map(|capture| (capture.time_ps, capture.packet)).collect::<Vec<_>>()
    };
    let round_ps = 8 * (90 * 800 + PS_PER_US);
    let with_handshake = Tcp { handshake: true, ..newreno() };
    let alone = packets(Transport::Tcp(with_handshake.clone()));
    let sent = packets(mptcp(8, Coupling::Lia, with_handshake));
    let syns: Vec<_> = sent.iter().filter(|(_, packet)| packet.kind == Kind::Syn).collect();
    assert_eq!(syns.len(), 8);
    assert_eq!((syns[0].0, syns[0].1.entropy), (0, alone[0].1.entropy));
    // They wait behind the first subflow's initial window.
    let behind_ps = 10 * 1538 * 800;
    for (number, (time_ps, _)) in (0..).zip(&syns[1..]) {
        assert_eq!(*time_ps, round_ps + behind_ps + number * 90 * 800);
    }
    let mut entropies: Vec<u32> = syns.iter().map(|(_, packet)| packet.entropy).collect();
    entropies.sort_unstable();
    entropies.dedup();
    assert_eq!(entropies.len(), 8);
    for syn in &syns {
        let first_data = sent.iter().find(|(_, p)| p.kind == Kind::Data && p.connection == syn.1.connection);
        assert!(first_data.unwrap().0 >= syn.0 + round_ps);
    }
    // Without handshake they are open when the first acknowledgement comes back, which lets out two segments first.
    let sent = packets(mptcp(8, Coupling::Lia, newreno()));
    let first_ack_ps = 4 * (1538 * 800 + PS_PER_US) + round_ps / 2;
    let others = sent.iter().find(|(_, packet)| packet.connection != sent[0].1.connection);
    assert_eq!(others.unwrap().0, first_ack_ps + 2 * 1538 * 800);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    /// Every flow ends, whatever the settings, the losses and the paths that die: the last byte arrives while
    /// one path lives, nothing is unaccounted for, and only flows that are open hold connections.
    #[test]
    fn every_flow_over_subflows_ends(
        sizes in prop::collection::vec((0u32..4, 1u64..400_000, 0u64..500), 1..5),
        (sack, rack, handshake, linked, dies, returns) in any::<(bool, bool, bool, bool, bool, bool)>(),
        subflows in 1u8..10,
        ack_every in 1u32..3,
        window_segments in 1u64..200,
        buffer in 4u32..60,
        loss in prop::sample::select(vec![0.0, 0.02]),
    ) {
        let (leaves, spines, hosts) = (3, 3, 2);
        let fabric = leaf_spine(leaves, spines, hosts, small_buffers(buffer));
        let tcp = Tcp {
            sack,
            rack,
            handshake,
            ack_every,
            ack_delay_ps: 100 * PS_PER_US,
            window_max_bytes: window_segments * 1448 + 7,
            rto_max_ps: 100_000 * PS_PER_US,
            ..newreno()
        };
        let flows: Vec<Flow> =
            sizes.iter().map(|&(src, size, start_us)| flow(src, 4 + src % 2, size, start_us * PS_PER_US)).collect();
        let mut settings =
            settings(mptcp(subflows, if linked { Coupling::Lia } else { Coupling::Uncoupled }, tcp));
        let change = |at_us: u64, what| Change { at_ps: at_us * PS_PER_US, what };
        settings.changes.push(change(0, What::PortLoss(uplink(leaves, spines, hosts, 2, 0) + 1, loss)));
        // The first subflow must be open: nobody joins without it.
        if dies {
            settings.routing_delay_ps = 40_000 * PS_PER_US;
            settings.changes.push(change(700, What::PortDown(uplink(leaves, spines, hosts, 2, 1) + 1)));
        }
        if dies && returns {
            settings.changes.push(change(30_000, What::PortUp(uplink(leaves, spines, hosts, 2, 1) + 1)));
        }
        settings.end_ps = 60_000_000 * PS_PER_US;
        let outcome = run(&fabric, &flows, &settings);
        let totals = outcome.totals;
        prop_assert_eq!(totals.flows_finished, flows.len() as u64, "{:?}", outcome.flows);
        prop_assert_eq!(
            totals.sent_packets,
            totals.delivered_packets + totals.dropped_packets + totals.lost_packets + totals.packets_left
        );
        prop_assert!(totals.connections_peak <= flows.len() as u64 * u64::from(subflows));
        for (flow, record) in flows.iter().zip(&outcome.flows) {
            let segments = flow.size_bytes.div_ceil(1448);
            prop_assert!(record.sent_bytes >= flow.size_bytes && record.sent_packets >= segments);
            prop_assert!(record.sent_packets - record.retransmitted_packets <= segments + u64::from(subflows));
        }
        prop_assert_eq!(run(&fabric, &flows, &settings).totals, totals);
    }
}

/// Connections are given back: a thousand flows one after the other need no more than one of them.
#[test]
fn places_of_ended_subflows_are_used_again() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let flows: Vec<Flow> = (0..1000).map(|index| flow(0, 1, 20_000, index * 200 * PS_PER_US)).collect();
    let totals = run(&fabric, &flows, &settings(mptcp(8, Coupling::Lia, newreno()))).totals;
    assert_eq!((totals.flows_finished, totals.connections_peak), (1000, 8));
}

#[test]
fn what_mptcp_cannot_do_is_refused() {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let refused = |transport| {
        let error = simulate(&fabric, &[flow(0, 1, 1, 0)], &settings(transport), &Progress::default());
        error.unwrap_err().to_string()
    };
    assert!(refused(mptcp(0, Coupling::Lia, newreno())).contains("no subflow"));
    let persistent = Tcp { persistent: true, ..newreno() };
    assert!(refused(mptcp(2, Coupling::Lia, persistent)).contains("persistent"));
    let cubic = Tcp::plain(Control::Cubic { hystart: true });
    assert!(refused(mptcp(2, Coupling::Lia, cubic)).contains("linked increases"));
}
