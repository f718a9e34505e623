use super::*;
use crate::transport::uec::Credits;

const FRAMING: Framing =
    Framing { payload_bytes_max: 4086, header_bytes: 64, frame_bytes_min: 64, gap_bytes: 0, whole_ns: false };

/// A host that keeps what is sent.
#[derive(Default)]
struct Sent(Vec<Packet>);

impl Host for Sent {
    fn now_ps(&self) -> u64 {
        0
    }
    fn send(&mut self, packet: Packet) {
        self.0.push(packet);
    }
    fn wake_at(&mut self, _at_ps: u64) {}
}

fn data(number: u64, marks: u8) -> Packet {
    Packet { seq: number * 4086, frame_bytes: 4150, payload_bytes: 4086, marks, ..Packet::default() }
}

/// Who is trimmed spent its credit for nothing, so the pacer hears of it although nothing more is demanded; of a packet that
/// is there already it does not (`UecSink::processTrimmed`).
#[test]
fn a_trimmed_packet_calls_the_pacer() {
    let uec = Uec { credits: Some(Credits::DEFAULT), ..Uec::DEFAULT };
    let (mut receiver, mut host) = (UecReceiver::default(), Sent::default());
    receiver.receive(&uec, FRAMING, &data(0, 0), || true, &mut host);
    assert!(!receiver.lines_up(&uec));
    receiver.receive(&uec, FRAMING, &data(0, marks::TRIMMED), || true, &mut host);
    assert!(!receiver.lines_up(&uec));
    receiver.receive(&uec, FRAMING, &data(1, marks::TRIMMED), || true, &mut host);
    assert!(receiver.lines_up(&uec));
    let kinds: Vec<_> = host.0.iter().map(|packet| packet.kind).collect();
    assert_eq!(kinds, [Kind::Sack, Kind::Sack, Kind::Nack]);
}

#[test]
fn a_grant_names_the_sum_of_all() {
    let uec = Uec { credits: Some(Credits::DEFAULT), rtt_ps: 14_022_720, ..Uec::DEFAULT };
    let (mut receiver, mut host) = (UecReceiver::default(), Sent::default());
    let mut request = Packet { kind: Kind::Request, ..Packet::default() };
    request.set_demand(20_480);
    receiver.receive(&uec, FRAMING, &request, || true, &mut host);
    assert!(receiver.lines_up(&uec));
    for ahead in [false, false, true] {
        receiver.grant(&uec, FRAMING, ahead, &mut host);
    }
    let sums: Vec<_> = host.0.iter().map(|packet| (packet.kind, packet.seq, packet.frame_bytes)).collect();
    assert_eq!(sums, [16_384, 20_480, 36_864].map(|sum| (Kind::Credit, sum, 64)));
}

/// The number is a position in bytes, as under every transport.
#[test]
fn an_acknowledgement_names_the_next_byte_expected() {
    let uec = Uec { ack_bytes: 1, ..Uec::DEFAULT };
    let (mut receiver, mut host) = (UecReceiver::default(), Sent::default());
    let last = Packet { payload_bytes: 5, ..data(3, 0) };
    for packet in [data(0, 0), data(2, 0), last, data(1, 0)] {
        receiver.receive(&uec, FRAMING, &packet, || true, &mut host);
    }
    let named: Vec<_> = host.0.iter().map(|answer| (answer.seq, answer.arrivals().bits)).collect();
    assert_eq!(named, [(4086, 0), (4086, 1), (4086, 3), (3 * 4086 + 5, 0)]);
}
