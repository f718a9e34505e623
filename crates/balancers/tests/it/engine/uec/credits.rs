//! Receiver credits in the engine: one flow to the picosecond, what credit costs on the wire, incasts, losses.

use super::*;
use anabranch_sim::transport::control::{Law, NsccSettings};
use anabranch_sim::transport::uec::Credits;
use anabranch_sim::{Kind, Packet};

fn credited(law: Law) -> Uec {
    Uec { law, credits: Some(Credits::DEFAULT), ..acknowledged() }
}

fn rdma(uec: Uec) -> Settings {
    Settings { nic: Nic::RDMA, ..over(uec) }
}

/// Ports of `uet-htsim`, which trim; marks would be of no use here.
fn trimming() -> Fabric {
    let mut switches = SwitchSettings { mark_at: MarkAt::Dequeue, ..SwitchSettings::default() };
    switches.classes[2].trim = true;
    let mut fabric = fat_tree_of(Buffer { bytes: BDP_BYTES, packets: u32::MAX }, Marking::Off);
    fabric.set_switches(Some(switches));
    fabric
}

/// `uet-htsim` prints 177.36766 us for 2 MB, with receiver credits alone and beside NSCC.
#[test]
fn one_flow_of_2_mb_takes_177_3677_us() {
    for law in [Law::None, Law::Nscc(NsccSettings::DEFAULT)] {
        let outcome = run(&fat_tree(Marking::Off), &[flow(0, 15, 2_000_000, 0)], &rdma(credited(law)));
        let [record] = &outcome.flows[..] else { panic!("one flow") };
        assert_eq!((record.fct_ps, record.sent_packets), (177_367_660, 490));
    }
}

/// Answers of that flow's receiver: 126 acknowledgements, as many as there, and grants of 64 bytes that are 16 KiB and
/// 99 % of the link's rate at most. There 206 grants arrive, some of them after the flow has ended.
#[test]
fn grants_are_packets_at_the_rate_of_the_pacer() {
    let fabric = fat_tree(Marking::Off);
    let observe = Observe {
        capture_ports: fabric.ports_of(15).to_vec(),
        capture_packets_max: 1000,
        ..Observe::default()
    };
    let settings = Settings { observe, ..rdma(credited(Law::None)) };
    let outcome = run(&fabric, &[flow(0, 15, 2_000_000, 0)], &settings);
    let of = |kind: Kind| outcome.captures.iter().filter(move |capture| capture.packet.kind == kind);
    assert_eq!(of(Kind::Sack).count(), 126);
    let grants: Vec<(u64, Packet)> =
        of(Kind::Credit).map(|capture| (capture.time_ps, capture.packet)).collect();
    assert!((150..=206).contains(&grants.len()), "{}", grants.len());
    for [(before_ps, before), (at_ps, grant)] in grants.windows(2).map(|pair| [pair[0], pair[1]]) {
        assert!(grant.seq >= before.seq && grant.seq - before.seq <= 16_384, "{before:?} {grant:?}");
        assert_eq!((grant.frame_bytes, grant.seq % 256), (64, 0));
        assert!(at_ps > before_ps);
    }
    let (first, last) = (grants[0], grants[grants.len() - 1]);
    // Each grant waits for the time of the one before.
    let granted = u128::from(grants[grants.len() - 2].1.seq);
    let rate = granted * 8_000_000_000_000 / u128::from(last.0 - first.0);
    assert!((95_000_000_000..99_100_000_000).contains(&rate), "{rate}");
}

/// Fifteen senders begin at once with more than a port holds. What is trimmed is what they sent before they heard of the
/// receiver, some 44 frames each, which come by the two links of its leaf; from then on credit fills its link and no queue,
/// and all have the same share.
#[test]
fn an_incast_is_trimmed_only_before_its_first_grants() {
    let fabric = trimming();
    let flows: Vec<_> = (0..15).map(|host| flow(host, 15, 2_000_000, 0)).collect();
    let observe = Observe { events_max: 1_000_000, ..Observe::default() };
    let outcome = run(&fabric, &flows, &Settings { observe, ..rdma(credited(Law::None)) });
    let trims = outcome.events.iter().filter(|event| event.what == EventKind::Trimmed);
    let last_ps = trims.map(|event| event.time_ps).max().unwrap();
    assert!(last_ps < 15 * 44 * 332_000 / 2 + 20 * PS_PER_US, "{last_ps}");
    let ends = outcome.flows.iter().map(|record| record.fct_ps);
    let (first, last) = (ends.clone().min().unwrap(), ends.max().unwrap());
    assert!(last - first < last / 20, "{first} and {last}");
    // The link carries everything but what came by itself at 99 % of its rate.
    let all_ps = 15 * (489 * 332_000 + 160_800);
    assert!((all_ps..all_ps * 100 / 99 + 30 * PS_PER_US).contains(&last), "{last} and {all_ps}");
    for record in &outcome.flows {
        assert_eq!(record.received_bytes, 2_000_000);
        let again = record.retransmitted_packets.checked_sub(record.dropped_packets);
        assert!(again.is_some_and(|again| again <= record.timeouts.into()), "{record:?}");
    }
}

/// One packet in twenty is lost, grants and requests too: timeouts and requests repair it.
#[test]
fn lost_grants_are_asked_for() {
    for law in [Law::None, Law::Nscc(NsccSettings::DEFAULT)] {
        let fabric = fat_tree(Marking::Off);
        let port = fabric.ports_of(15)[0];
        let changes = [port, fabric.ports()[port as usize].reverse]
            .map(|port| Change { at_ps: 0, what: What::PortLoss(port, 0.05) });
        let flows: Vec<_> = (0..15).map(|host| flow(host, 15, 300_000, 0)).collect();
        let outcome = run(&fabric, &flows, &Settings { changes: changes.to_vec(), ..rdma(credited(law)) });
        for record in &outcome.flows {
            assert!(record.fct_ps < 60_000 * PS_PER_US, "{record:?}");
            assert_eq!(record.received_bytes, 300_000);
        }
    }
}

/// A receiver that grants to nobody for a while, because all that it sends is lost, is asked until it is heard again.
#[test]
fn a_sender_asks_until_it_is_heard() {
    let fabric = fat_tree(Marking::Off);
    let port = fabric.ports_of(15)[0];
    let loss = |at_us: u64, loss| Change { at_ps: at_us * PS_PER_US, what: What::PortLoss(port, loss) };
    let settings = Settings { changes: vec![loss(50, 1.0), loss(3_000, 0.0)], ..rdma(credited(Law::None)) };
    let outcome = run(&fabric, &[flow(0, 15, 2_000_000, 0)], &settings);
    let [record] = &outcome.flows[..] else { panic!("one flow") };
    assert_eq!(record.received_bytes, 2_000_000);
    assert!((3_000 * PS_PER_US..8_000 * PS_PER_US).contains(&record.fct_ps), "{record:?}");
}

/// A trim notice says whether the port to the receiver trimmed, whose link credits look after, or another.
#[test]
fn a_notice_tells_the_last_port_from_others() {
    let fabric = trimming();
    let flows: Vec<_> = (0..15).map(|host| flow(host, 15, 400_000, 0)).collect();
    let own = fabric.ports_of(15)[0];
    let observe = Observe { capture_ports: vec![own], capture_packets_max: 1_000_000, ..Observe::default() };
    let outcome = run(&fabric, &flows, &Settings { observe, ..rdma(credited(Law::None)) });
    let trimmed = |last: bool| {
        let is_so = |record: &&PortRecord| (record.port == fabric.ports()[own as usize].reverse) == last;
        outcome.ports.iter().filter(is_so).map(|record| record.trimmed_packets).sum::<u64>()
    };
    let notices = |last: bool| {
        let nacks = outcome.captures.iter().filter(|capture| capture.packet.kind == Kind::Nack);
        nacks.filter(|capture| capture.packet.trimmed_last() == last).count() as u64
    };
    assert!(trimmed(true) > 100 && trimmed(false) > 100, "{} and {}", trimmed(true), trimmed(false));
    assert_eq!([true, false].map(notices), [true, false].map(trimmed));
}

/// Two flows of one host, which wait for their turns in its card: each asks for half of what it wants. At first that is a
/// frame, of which each asks for a half; then two frames' worth, of which each asks for one.
#[test]
fn senders_of_one_host_share_what_they_ask_for() {
    let fabric = fat_tree(Marking::Off);
    let observe =
        Observe { capture_ports: fabric.ports_of(0).to_vec(), capture_packets_max: 4, ..Observe::default() };
    let settings = Settings { observe, ..rdma(credited(Law::None)) };
    let outcome = run(&fabric, &[flow(0, 14, 2_000_000, 0), flow(0, 15, 2_000_000, 0)], &settings);
    let quanta: Vec<_> =
        outcome.captures.iter().map(|capture| (capture.flow, capture.packet.demand() / 256)).collect();
    assert_eq!(quanta, [(0, 9), (1, 9), (0, 17), (1, 17)]);
}
