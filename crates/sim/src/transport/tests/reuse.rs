//! Halves that served another connection before: what stands apart of a half is forgotten only when it is needed again, and
//! must not be the other connection's then.

use super::*;
use crate::Packet;
use crate::transport::{Pace, ReceivingHalf, SendingHalf};
use anabranch_fabric::Rate;

/// Settings that between them use all that stands apart.
fn settings() -> Vec<(&'static str, Tcp)> {
    let pace = Pace { rate: Rate::from_bps(1_000_000_000).unwrap(), burst_bytes: 10_000 };
    vec![
        ("scoreboard", plain()),
        ("inflation", Tcp { sack: false, ..plain() }),
        ("rack", Tcp { rack: true, ..plain() }),
        ("dsack", Tcp { rack: true, dsack: true, ..plain() }),
        ("cubic", Tcp { control: Control::Cubic { hystart: true }, ..plain() }),
        ("dctcp", Tcp { control: Control::Dctcp { gain: 0.0625 }, ecn: true, ..plain() }),
        ("paced", Tcp { pace: Some(pace), ..plain() }),
        ("hold", Tcp { reorder: Reorder::Hold { timeout_ps: 300 * US }, ..plain() }),
    ]
}

/// Loses some segments, marks some, delays some, by a rule of the segment's number: so both halves have all to do.
fn rough(period: u64) -> impl FnMut(&Packet) -> Fate {
    let mut seen = std::collections::HashSet::new();
    move |packet| {
        let segment = packet.seq / MSS;
        if packet.kind != crate::Kind::Data || !seen.insert(segment) {
            return Fate::Arrives;
        }
        match segment % period {
            3 | 4 => Fate::Lost,
            6 => Fate::Late(40 * US),
            8 => Fate::Marked(crate::marks::EXPERIENCED),
            _ => Fate::Arrives,
        }
    }
}

#[test]
fn halves_that_served_before_are_as_new_ones() {
    for (name, tcp) in settings() {
        for steps in [40, 90, 150, 400] {
            // The first connection ends in the middle of its troubles.
            let mut before = Wire::new(tcp.clone(), rough(11));
            before.start(300 * MSS);
            for _ in 0..steps {
                before.step(u64::MAX);
            }
            let mut fresh = Wire::new(tcp.clone(), rough(13));
            let mut reused = Wire::new(tcp.clone(), rough(13));
            (reused.sender, reused.receiver) = (before.sender, before.receiver);
            reused.sender.reset();
            reused.receiver.reset();
            assert_eq!(reused.sender.counters(), fresh.sender.counters(), "{name}");
            assert_eq!(reused.receiver.counters(), fresh.receiver.counters(), "{name}");
            for wire in [&mut fresh, &mut reused] {
                wire.start(200 * MSS);
                wire.run();
                assert_eq!(wire.receiver.delivered(), 200 * MSS, "{name}");
            }
            assert!(fresh.sender.counters().retransmitted_packets > 0, "{name}: there is trouble");
            assert_eq!(format!("{:?}", reused.log), format!("{:?}", fresh.log), "{name}");
            assert_eq!(reused.windows, fresh.windows, "{name}");
            assert_eq!(reused.sender.counters(), fresh.sender.counters(), "{name}");
            assert_eq!(reused.receiver.counters(), fresh.receiver.counters(), "{name}");
        }
    }
}

#[test]
fn paths_are_counted_beyond_those_that_stand_with_the_receiver() {
    let mut wire = Wire::new(plain(), |_: &Packet| Fate::Arrives);
    let mut seen = Vec::new();
    for paths in [vec![0, 63, 64, 127, 128, 255], vec![1, 200]] {
        wire.receiver.reset();
        for (path, segment) in paths.iter().zip(0..) {
            let packet =
                Packet { path: *path, seq: segment * MSS, payload_bytes: MSS as u16, ..Packet::default() };
            wire.take(&packet);
        }
        seen.push(wire.receiver.counters().paths());
    }
    assert_eq!(seen, [6, 2], "what the connection before saw is forgotten");
}

#[test]
fn a_message_on_an_open_connection_counts_from_zero() {
    let mut wire = Wire::new(plain(), rough(11));
    wire.start(100 * MSS);
    wire.run();
    wire.sender.restart_counters();
    assert_eq!(wire.sender.counters(), crate::transport::SenderCounters::default());
    let sent_before = wire.data().count();
    wire.write(50 * MSS);
    wire.run();
    let of_message: Vec<u64> =
        wire.data().skip(sent_before).map(|(_, packet)| packet.payload_bytes.into()).collect();
    let counters = wire.sender.counters();
    assert_eq!(
        (counters.sent_packets, counters.sent_bytes),
        (of_message.len() as u64, of_message.iter().sum())
    );
    assert!(counters.retransmitted_packets > 0);
}
