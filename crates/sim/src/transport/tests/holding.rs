//! The reorder shim at the receiver.

use super::*;
use crate::Kind;

/// The first copies of these segments come so much later.
fn late(segments: &'static [u64], by_ps: u64) -> impl FnMut(&crate::Packet) -> Fate {
    move |packet| {
        let first = packet.kind == Kind::Data && packet.marks & crate::marks::RETRANSMITTED == 0;
        if first && segments.contains(&(packet.seq / MSS)) { Fate::Late(by_ps) } else { Fate::Arrives }
    }
}

fn duplicates<F: FnMut(&crate::Packet) -> Fate>(wire: &Wire<F>) -> usize {
    let numbers = wire.acks().map(|(_, p)| p.seq).collect::<Vec<_>>();
    numbers.windows(2).filter(|w| w[0] == w[1]).count()
}

#[test]
fn a_gap_that_fills_in_time_is_not_seen() {
    let hold = Reorder::Hold { timeout_ps: 50 * US };
    for (reorder, by_us, seen) in [(Reorder::None, 40, true), (hold, 40, false), (hold, 60, true)] {
        let mut wire = Wire::new(Tcp { reorder, initial_window: 20, ..plain() }, late(&[3, 9], by_us * US));
        wire.start(60 * MSS);
        wire.run();
        assert_eq!(duplicates(&wire) > 0, seen, "{reorder:?} {by_us}");
        assert_eq!(wire.sender.counters.retransmitted_packets > 0, seen, "{reorder:?} {by_us}");
        // What the network did is counted before the shim.
        assert_eq!(wire.receiver.counters.reordered_packets, 2);
    }
}

#[test]
fn a_loss_is_passed_on_after_the_hold() {
    let reorder = Reorder::Hold { timeout_ps: 70 * US };
    let mut wire = Wire::new(Tcp { reorder, ..plain() }, drops(&[0]));
    wire.start(10 * MSS);
    wire.run();
    let again = wire.data().find(|(_, p)| p.marks & crate::marks::RETRANSMITTED != 0).unwrap();
    assert_eq!(again.0, (50 + 70 + 50) * US);
    assert_eq!(wire.sender.counters.timeouts, 0);
}

#[test]
fn within_a_flowcell_a_gap_passes_at_once_and_at_its_border_it_is_held() {
    // Flowcells of five segments (Presto, algorithm 2).
    let reorder = Reorder::Flowcell { cell_bytes: 5 * 1518, timeout_ps: 50 * US };
    for (segments, seen) in [(&[2u64][..], true), (&[4], false), (&[3, 4], false), (&[5, 6, 7, 8, 9], false)]
    {
        let segments: &'static [u64] = segments;
        let mut wire = Wire::new(Tcp { reorder, ..plain() }, late(segments, 40 * US));
        wire.start(10 * MSS);
        wire.run();
        assert_eq!(duplicates(&wire) > 0, seen, "{segments:?}");
    }
}

#[test]
fn nothing_is_held_longer_than_the_hold() {
    // Two gaps: the second opens 30 us after the first.
    let hold_us = 50;
    let reorder = Reorder::Hold { timeout_ps: hold_us * US };
    let tcp = Tcp { reorder, initial_window: 2, dup_ack_threshold: 100, sack: true, ..plain() };
    let mut wire = Wire::new(tcp, |packet| match (packet.kind, packet.seq / MSS) {
        (Kind::Data, 0 | 2) => Fate::Late(500 * US),
        _ => Fate::Arrives,
    });
    wire.start(2 * MSS);
    wire.run_until(30 * US);
    // Limited by the window until the first is acknowledged: room is made by the SACK of the second.
    wire.write(2 * MSS);
    wire.run();
    let acks = wire.acks().map(|(time, p)| (time / US, p.seq / MSS)).collect::<Vec<_>>();
    assert_eq!(acks[0], (100, 0));
    assert!(acks.iter().all(|&(time, _)| time < 1_000), "{acks:?}");
    assert_eq!(wire.receiver.delivered(), 4 * MSS);
}
