//! The reorder shim at the receiver.

use super::*;
use crate::Kind;
use crate::transport::{ReceivingHalf, SendingHalf};

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
        assert_eq!(wire.sender.counters().retransmitted_packets > 0, seen, "{reorder:?} {by_us}");
        // What the network did is counted before the shim.
        assert_eq!(wire.receiver.counters().reordered_packets, 2);
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
    assert_eq!(wire.sender.counters().timeouts, 0);
}

#[test]
fn within_a_flowcell_a_gap_passes_at_once_and_at_its_border_it_is_held() {
    // Flowcells of five segments (Presto, algorithm 2).
    let reorder = Reorder::Flowcell { cell_bytes: 5 * MSS, timeout_ps: 50 * US };
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
fn a_segment_belongs_to_the_cell_of_its_first_byte() {
    // The third segment begins one byte before the border, or upon it: the second is missing within its cell, or at its end.
    for (cell_bytes, seen) in [(2 * MSS + 1, true), (2 * MSS, false)] {
        let reorder = Reorder::Flowcell { cell_bytes, timeout_ps: 50 * US };
        let tcp = Tcp { reorder, initial_window: 5, ..plain() };
        let mut wire = Wire::new(tcp, late(&[1], 40 * US));
        wire.start(3 * MSS);
        wire.run();
        assert_eq!(duplicates(&wire) > 0, seen, "{cell_bytes}");
    }
}

const LOST: u64 = u64::MAX;

/// Pairs of flowcells of one segment each, a pair every 50 ms, the first of each pair so much late, or lost:
/// acknowledgements of each pair that repeat the one before.
fn duplicates_after(delays_us: &'static [u64]) -> Vec<usize> {
    let reorder = Reorder::Flowcell { cell_bytes: MSS, timeout_ps: 100 * US };
    let tcp = Tcp { reorder, dup_ack_threshold: 100, ..plain() };
    let mut wire = Wire::new(tcp, move |packet| {
        let segment = (packet.seq / MSS) as usize;
        let first = packet.kind == Kind::Data && packet.marks & crate::marks::RETRANSMITTED == 0;
        match delays_us.get(segment / 2) {
            Some(&LOST) if first && segment.is_multiple_of(2) => Fate::Lost,
            Some(&us) if first && segment.is_multiple_of(2) => Fate::Late(us * US),
            _ => Fate::Arrives,
        }
    });
    (0..delays_us.len() as u64)
        .map(|pair| {
            let before = duplicates(&wire);
            if pair == 0 {
                wire.start(2 * MSS);
            } else {
                wire.write(2 * MSS);
            }
            wire.run_until((pair + 1) * 50 * MS);
            duplicates(&wire) - before
        })
        .collect()
}

#[test]
fn the_hold_at_a_border_adapts_to_what_reordering_took() {
    // Nothing known: held for as long as allowed. Then for twice the average, which a reordering that was taken for a loss
    // raises: 10, then 10 + (100 - 10) / 8 = 21.25, so 42 us are still waited for and 60 are not.
    assert_eq!(duplicates_after(&[0, 90]), [0, 0]);
    assert_eq!(duplicates_after(&[0, 110]), [0, 1]);
    assert_eq!(duplicates_after(&[0, 10, 19, 10]), [0, 0, 0, 0]);
    assert_eq!(duplicates_after(&[0, 10, 100]), [0, 0, 1]);
    assert_eq!(duplicates_after(&[0, 10, 100, 42]), [0, 0, 1, 0]);
    assert_eq!(duplicates_after(&[0, 10, 100, 43]), [0, 0, 1, 1]);
    // What was lost and sent again is no reordering.
    assert_eq!(duplicates_after(&[0, 10, LOST, 21]), [0, 0, 1, 1]);
    // Never longer than allowed, however late things are.
    assert_eq!(duplicates_after(&[0, 90, 90, 110]), [0, 0, 0, 1]);
}

#[test]
fn news_of_what_is_held_prolongs_the_hold() {
    // The average is 40 us after the first pair. Then segment 2 is 95 us late; 3 comes at once and 4 70 us after it,
    // still within the 80 us of the hold, which ends 20 us after the news instead, at 90 us: one duplicate each for 3 and 4.
    // Were 2 late by 85 us, it would come in time.
    for (late_us, seen) in [(95, 2), (85, 0)] {
        let reorder = Reorder::Flowcell { cell_bytes: MSS, timeout_ps: 100 * US };
        let tcp = Tcp { reorder, dup_ack_threshold: 100, ..plain() };
        let mut wire = Wire::new(tcp, move |packet| match (packet.kind, packet.seq / MSS) {
            (Kind::Data, 0) => Fate::Late(40 * US),
            (Kind::Data, 2) => Fate::Late(late_us * US),
            (Kind::Data, 4) => Fate::Late(70 * US),
            _ => Fate::Arrives,
        });
        wire.start(2 * MSS);
        wire.run_until(MS);
        wire.write(3 * MSS);
        wire.run();
        assert_eq!(duplicates(&wire), seen, "{late_us}");
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
