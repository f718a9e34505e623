use super::*;
use crate::transport::control::{Answer, CongestionControl, Kept};
use crate::transport::{Host, SendingHalf};
use crate::{Framing, Kind, Packet};
use std::sync::{Arc, Mutex};

const FRAMING: Framing =
    Framing { payload_bytes_max: 1000, header_bytes: 64, frame_bytes_min: 64, gap_bytes: 0, whole_ns: false };
const FRAME_PS: u64 = 100_000;
const RNR_PS: u64 = 10_000_000;

/// A host whose link takes a fixed time for each frame, and that keeps what is sent.
#[derive(Default)]
struct OneLink {
    now_ps: u64,
    sent: Vec<Packet>,
}

impl Host for OneLink {
    fn now_ps(&self) -> u64 {
        self.now_ps
    }
    fn unbounded_frame_ps(&self, _wire_bytes: u32) -> Option<u64> {
        Some(FRAME_PS)
    }
    fn send(&mut self, packet: Packet) {
        self.sent.push(packet);
    }
    fn wake_at(&mut self, _at_ps: u64) {}
}

/// Writes down the bytes that answers tell it.
struct Told(Arc<Mutex<Vec<(u64, u64)>>>);

impl CongestionControl for Told {
    fn window_bytes(&self) -> u64 {
        u64::MAX
    }
    fn on_ack(&mut self, answer: &Answer<'_>) {
        self.0.lock().expect("one thread").push((answer.una, answer.next));
    }
}

fn answer(kind: Kind, seq: u64) -> Packet {
    Packet { kind, seq, ..Packet::default() }
}

/// A queue pair that is kept goes on where the message before ended: the link is busy with its last frame, and its law counts
/// bytes through both.
#[test]
fn a_kept_queue_pair_goes_on() {
    let roce = Roce::plain();
    let told = Arc::default();
    let (mut first, mut host) = (RoceSender::default(), OneLink::default());
    first.begin(&roce, FRAMING, 1000, Some(Kept::fresh(Box::new(Told(Arc::clone(&told))))), &mut host);
    assert_eq!(host.sent.len(), 1);
    host.now_ps = FRAME_PS / 4;
    first.receive(&roce, FRAMING, &answer(Kind::Ack, 1000), &mut host);
    let mut second = RoceSender::default();
    let kept = first.leave();
    second.begin(&roce, FRAMING, 1000, kept, &mut host);
    assert_eq!(host.sent.len(), 1, "the link is busy");
    host.now_ps = FRAME_PS;
    second.wake(&roce, FRAMING, &mut host);
    assert_eq!(host.sent.len(), 2);
    second.receive(&roce, FRAMING, &answer(Kind::Ack, 1000), &mut host);
    assert_eq!(*told.lock().expect("one thread"), [(1000, 1000), (2000, 2000)]);
}

/// The time of the first RNR NAK counts: one that comes while the sender waits, as for a packet that came twice, does not
/// begin it anew.
#[test]
fn another_rnr_nak_does_not_prolong_the_wait() {
    for recovery in [Recovery::GoBackN { nack_ps: 0 }, Recovery::Selective { rto_low_ps: 100 * RNR_PS }] {
        let roce = Roce { recovery, semantics: Semantics::Send { rnr_ps: RNR_PS }, ..Roce::plain() };
        let (mut sender, mut host) = (RoceSender::default(), OneLink::default());
        sender.begin(&roce, FRAMING, 1000, None, &mut host);
        for now_ps in [RNR_PS / 2, RNR_PS] {
            host.now_ps = now_ps;
            sender.receive(&roce, FRAMING, &answer(Kind::NotReady, 0), &mut host);
        }
        assert_eq!(sender.counters.not_ready, 1);
        for (now_ps, sent) in [(RNR_PS * 3 / 2 - 1, 1), (RNR_PS * 3 / 2, 2)] {
            host.now_ps = now_ps;
            sender.wake(&roce, FRAMING, &mut host);
            assert_eq!(host.sent.len(), sent, "{recovery:?}");
        }
    }
}

/// Behind a first packet that found no receive, none is asked for again: the sender begins anew by itself.
#[test]
fn what_follows_a_refused_packet_is_discarded_without_a_word() {
    for recovery in [Recovery::GoBackN { nack_ps: 0 }, Recovery::Selective { rto_low_ps: RNR_PS }] {
        let roce = Roce { recovery, semantics: Semantics::Send { rnr_ps: RNR_PS }, ..Roce::plain() };
        let (mut receiver, mut host) = (RoceReceiver::default(), OneLink::default());
        let mut arrives = |number, has_receive| {
            let packet = Packet { seq: number * 1000, payload_bytes: 1000, ..Packet::default() };
            receiver.is_ready(&roce, &packet, || has_receive, &mut host)
        };
        let ready = [(0_u64, false), (1, true), (2, true), (0, true), (1, false)];
        assert_eq!(ready.map(|(number, has)| arrives(number, has)), [false, false, false, true, true]);
        let answers: Vec<_> = host.sent.iter().map(|packet| packet.kind).collect();
        assert_eq!(answers, [Kind::NotReady], "{recovery:?}");
    }
}
