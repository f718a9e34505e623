//! Datagrams at a constant rate.

use crate::transport::datagrams::{DatagramReceiver, Datagrams};
use crate::transport::{Host, ReceivingHalf, SendingHalf, Udp};
use crate::{Framing, Kind, Packet};

#[derive(Default)]
struct Port {
    now_ps: u64,
    sent: Vec<(u64, Packet)>,
    wish_ps: Option<u64>,
}

impl Host for Port {
    fn now_ps(&self) -> u64 {
        self.now_ps
    }
    fn send(&mut self, packet: Packet) {
        self.sent.push((self.now_ps, packet));
    }
    fn wake_at(&mut self, at_ps: u64) {
        self.wish_ps = Some(at_ps);
    }
}

#[test]
fn datagrams_keep_their_rate() {
    // 1538 bytes on the wire at 1 Gbit/s: 12.304 us.
    let udp = Udp { rate: anabranch_fabric::Rate::from_bps(1_000_000_000).unwrap(), payload_bytes_max: None };
    let mut sender = Datagrams::default();
    let mut receiver = DatagramReceiver::default();
    let mut port = Port::default();
    sender.begin(&udp, Framing::ETHERNET, 3 * 1448 + 100, None, &mut port);
    while let Some(wish) = port.wish_ps.take() {
        port.now_ps = wish;
        sender.wake(&udp, Framing::ETHERNET, &mut port);
    }
    let sent = port.sent.iter().map(|(time, p)| (*time, p.payload_bytes, p.kind)).collect::<Vec<_>>();
    assert_eq!(sent, [0, 1, 2, 3].map(|i| (i * 12_304_000, if i == 3 { 100 } else { 1448 }, Kind::Datagram)));
    assert!(sender.is_idle());
    assert_eq!(sender.counters().sent_bytes, 4444);
    for at in [0, 2, 1, 3] {
        let packet = port.sent[at].1;
        receiver.receive(&udp, Framing::ETHERNET, &packet, || true, &mut port);
    }
    assert_eq!(receiver.delivered(), 4444);
    assert_eq!(receiver.counters().reordered_packets, 1);
}
