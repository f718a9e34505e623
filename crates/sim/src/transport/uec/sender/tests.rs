use super::*;
use crate::transport::ReceivingHalf;
use crate::transport::control::Law;
use crate::transport::uec::{Credits, UecReceiver};
use crate::{Arrivals, Kind};

const FRAMING: Framing =
    Framing { payload_bytes_max: 4086, header_bytes: 64, frame_bytes_min: 64, gap_bytes: 0, whole_ns: false };
const US: u64 = 1_000_000;
const RTT_PS: u64 = 14_022_720;
const RTO_PS: u64 = 100 * US;

/// A host with a card that takes everything at once.
#[derive(Default)]
struct Endless {
    now_ps: u64,
    sent: Vec<Packet>,
    wishes_ps: Vec<u64>,
}

impl Host for Endless {
    fn now_ps(&self) -> u64 {
        self.now_ps
    }
    fn link_bps(&self) -> u64 {
        100_000_000_000
    }
    fn send(&mut self, packet: Packet) {
        self.sent.push(packet);
    }
    fn wake_at(&mut self, at_ps: u64) {
        self.wishes_ps.push(at_ps);
    }
}

impl Endless {
    /// What was sent since this was asked last: data, and the demand of each request.
    fn took(&mut self) -> (usize, Vec<u64>) {
        let sent = std::mem::take(&mut self.sent);
        let (requests, data): (Vec<_>, Vec<_>) =
            sent.into_iter().partition(|packet| packet.kind == Kind::Request);
        assert!(data.iter().all(|packet| packet.kind == Kind::Data));
        (data.len(), requests.iter().map(Packet::demand).collect())
    }
}

/// A sender of a thousand full packets by credit, and its host, as the first packets have gone.
fn begun() -> (Uec, UecSender, Endless) {
    let uec = Uec {
        law: Law::None,
        credits: Some(Credits::DEFAULT),
        rto_ps: RTO_PS,
        rtt_ps: RTT_PS,
        ..Uec::DEFAULT
    };
    let (mut sender, mut host) = (UecSender::default(), Endless::default());
    sender.begin(&uec, FRAMING, 1000 * 4086, None, &mut host);
    (uec, sender, host)
}

/// An acknowledgement of all packets before `expected`.
fn acknowledgement(expected: u32) -> Packet {
    let mut packet = Packet { kind: Kind::Sack, seq: u64::from(expected) * 4086, ..Packet::default() };
    packet.set_arrivals(Arrivals {
        cause: expected - 1,
        base: expected,
        frame_bytes: expected * 4150,
        ..Arrivals::default()
    });
    packet
}

/// Wakes a sender at each of its wishes up to a time, and returns when it asked.
fn requests(uec: &Uec, sender: &mut UecSender, host: &mut Endless, until_ps: u64) -> Vec<u64> {
    let mut at_us = Vec::new();
    for _ in 0..1000 {
        let next_ps = host.wishes_ps.iter().copied().filter(|&at_ps| at_ps >= host.now_ps).min();
        let Some(next_ps) = next_ps.filter(|&at_ps| at_ps <= until_ps) else { break };
        host.wishes_ps.retain(|&at_ps| at_ps > next_ps);
        host.now_ps = next_ps;
        sender.wake(uec, FRAMING, host);
        at_us.extend(host.took().1.iter().map(|_| next_ps / US));
    }
    at_us
}

/// Credit that nobody granted is 64 packets (262,926 of 4,150 bytes); a grant of 16 KiB brings four, since the last of the
/// 64 left it 2,674 below zero, and the next brings four.
#[test]
fn grants_let_packets_go() {
    let (uec, mut sender, mut host) = begun();
    assert_eq!(host.took(), (64, vec![]));
    host.now_ps = RTT_PS;
    sender.receive(&uec, FRAMING, &acknowledgement(64), &mut host);
    assert_eq!(host.took(), (0, vec![]));
    for granted in [1, 2] {
        let grant = Packet { kind: Kind::Credit, seq: granted * 16_384, ..Packet::default() };
        sender.receive(&uec, FRAMING, &grant, &mut host);
        assert_eq!(host.took(), (4, vec![]));
    }
}

/// All that it sent has arrived, so nothing can time out, and no grant comes: it asks after 64 timeouts, and again after two,
/// four and so on of them.
#[test]
fn a_sender_that_hears_nothing_asks_by_itself() {
    let (uec, mut sender, mut host) = begun();
    host.now_ps = 20 * US;
    sender.receive(&uec, FRAMING, &acknowledgement(64), &mut host);
    host.took();
    let at_us = requests(&uec, &mut sender, &mut host, 9_000 * US);
    assert_eq!(at_us, [6_420, 6_620, 7_020, 7_820]);
    // What it wants is 1.5 round trips' worth beyond the 2,674 bytes that it owes.
    host.now_ps = 9_420 * US;
    sender.wake(&uec, FRAMING, &mut host);
    assert_eq!(host.took(), (0, vec![(262_926_u64 + 2_674).div_ceil(256) * 256]));
}

/// A packet that times out and finds no credit asks at once, and once in a round trip at most.
#[test]
fn a_timeout_without_credit_asks_for_some() {
    let (uec, mut sender, mut host) = begun();
    host.now_ps = 20 * US;
    sender.receive(&uec, FRAMING, &acknowledgement(10), &mut host);
    host.took();
    assert_eq!(requests(&uec, &mut sender, &mut host, 150 * US), [100]);
    assert!(sender.counters.timeouts > 0);
    assert_eq!(sender.counters.retransmitted_packets, 0);
}

/// Packet 1 is lost. 70 to 72 arrive, and then 0 once more: its acknowledgement names what it can, up to 65, and the count of
/// what is unacknowledged begins anew, so that nothing names 70 to 72 when 73 comes. They time out though they arrived. So
/// does uet-htsim (40ccb05, uec.cpp:2654: `_accepted_bytes = 0;  // careful about this one.`), and Linux' ultraeth counts
/// anew at every packet that was sent again (RFC of 2025-03-06, `uet_pdc_rx_req_handle_ack`).
#[test]
fn what_arrived_may_time_out_behind_a_packet_that_came_twice() {
    let uec = Uec { law: Law::None, rto_ps: RTO_PS, rtt_ps: RTT_PS, ..Uec::DEFAULT };
    let outcome = |twice: bool| {
        let (mut sender, mut host) = (UecSender::default(), Endless::default());
        sender.begin(&uec, FRAMING, 80 * 4086, None, &mut host);
        let sent = std::mem::take(&mut host.sent);
        let mut receiver = UecReceiver::default();
        let again = twice.then_some(0);
        for number in [Some(0), Some(70), Some(71), Some(72), again, Some(73)].into_iter().flatten() {
            let packet = Packet { marks: marks::CAPABLE, ..sent[number] };
            receiver.receive(&uec, FRAMING, &packet, || true, &mut host);
        }
        let answers = std::mem::take(&mut host.sent);
        host.now_ps = 20 * US;
        for answer in &answers {
            sender.receive(&uec, FRAMING, answer, &mut host);
        }
        host.now_ps = RTO_PS;
        sender.wake(&uec, FRAMING, &mut host);
        let mut again: Vec<_> = host.sent.iter().map(|packet| packet.seq / 4086).collect();
        again.retain(|number| (70..74).contains(number));
        (answers.len(), again)
    };
    assert_eq!(outcome(false), (2, vec![]));
    assert_eq!(outcome(true), (2, vec![70, 71, 72, 73]));
}

/// Packets that time out and arrive all the same prove that the timeout is too short: what follows waits twice as long as they
/// took. Those that were lost prove nothing.
#[test]
fn a_packet_that_arrives_after_its_timeout_lengthens_it() {
    let uec = Uec { law: Law::None, rto_ps: RTO_PS, rtt_ps: RTT_PS, ..Uec::DEFAULT };
    let timeouts_after = |echo: u8| {
        let (mut sender, mut host) = (UecSender::default(), Endless::default());
        sender.begin(&uec, FRAMING, 2 * 4086, None, &mut host);
        host.now_ps = RTO_PS;
        sender.wake(&uec, FRAMING, &mut host);
        assert_eq!((sender.counters.timeouts, sender.counters.retransmitted_packets), (2, 2));
        host.now_ps = 150 * US;
        let answer = Packet { marks: echo, ..acknowledgement(1) };
        sender.receive(&uec, FRAMING, &answer, &mut host);
        let mut counted = Vec::new();
        for at_us in [199, 200, 399, 400] {
            host.now_ps = at_us * US;
            sender.wake(&uec, FRAMING, &mut host);
            counted.push(sender.counters.timeouts);
        }
        counted
    };
    assert_eq!(timeouts_after(0), [2, 2, 2, 3], "150 us after it was sent");
    assert_eq!(timeouts_after(marks::RETRANSMITTED), [2, 3, 3, 4], "50 us after it was sent again");
}
