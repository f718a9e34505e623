//! Reports of duplicates (DSACK, RFC 2883), and what a sender learns of them: RFC 8985, section 6.2.4; RFC 3522; RFC 3708.

use super::*;
use crate::transport::SendingHalf;
use crate::{Kind, Packet, marks};

fn linux() -> Tcp {
    Tcp { rack: true, dsack: true, initial_window: 20, ..plain() }
}

/// The first block of an acknowledgement, in segments of the stream, if it reports a duplicate.
fn duplicate(ack: &Packet) -> Option<(u64, u64)> {
    let position = |distance: u32| ack.seq.wrapping_add_signed(i64::from(distance as i32)) / MSS;
    let reports = ack.marks & marks::DUPLICATE != 0;
    reports.then(|| (position(ack.sack[0].start), position(ack.sack[0].end)))
}

fn segment(seq: u64) -> Packet {
    Packet {
        kind: Kind::Data,
        seq: seq * MSS,
        payload_bytes: MSS as u16,
        frame_bytes: crate::Framing::ETHERNET.frame_bytes(MSS as u16),
        ..Packet::default()
    }
}

/// Answers of a receiver to these segments.
fn answers(tcp: Tcp, segments: &[u64]) -> Vec<Packet> {
    let mut wire = Wire::new(tcp, |_| Fate::Arrives);
    segments.iter().flat_map(|&seq| wire.answers_to(&segment(seq))).collect()
}

#[test]
fn a_duplicate_below_the_acknowledgement_is_reported_alone() {
    // RFC 2883, section 4.1.1: what was sent again had arrived, and its acknowledgement was lost.
    let last = *answers(linux(), &[0, 1, 2, 3, 0]).last().unwrap();
    assert_eq!((last.seq / MSS, duplicate(&last)), (4, Some((0, 1))));
    assert_eq!(last.sack[1].end, 0);
}

#[test]
fn a_duplicate_within_a_gap_stands_before_the_block_that_holds_it() {
    // RFC 2883, section 4.2: the second block is the larger one that the duplicate is part of.
    let last = *answers(linux(), &[0, 2, 3, 4, 3]).last().unwrap();
    assert_eq!((last.seq / MSS, duplicate(&last)), (1, Some((3, 4))));
    assert_eq!((u64::from(last.sack[1].start) / MSS, u64::from(last.sack[1].end) / MSS), (1, 4));
}

#[test]
fn the_last_segment_twice_is_reported_though_it_ends_where_the_acknowledgement_does() {
    let last = *answers(linux(), &[0, 1, 1]).last().unwrap();
    assert_eq!((last.seq / MSS, duplicate(&last)), (2, Some((1, 2))));
}

#[test]
fn nothing_is_reported_that_arrived_once_or_where_nobody_asks() {
    assert!(answers(linux(), &[0, 2, 3, 1, 4]).iter().all(|ack| duplicate(ack).is_none()));
    assert!(
        answers(Tcp { dsack: false, ..linux() }, &[0, 2, 2, 0]).iter().all(|ack| duplicate(ack).is_none())
    );
}

/// Every tenth segment is so late for the first time it is sent.
fn late(by_ps: u64) -> impl FnMut(&Packet) -> Fate {
    move |packet| {
        let first = packet.kind == Kind::Data && packet.marks & marks::RETRANSMITTED == 0;
        if first && packet.seq / MSS % 10 == 5 { Fate::Late(by_ps) } else { Fate::Arrives }
    }
}

#[test]
fn the_window_for_reordering_grows_until_it_holds_what_comes_late() {
    // A quarter of the round trip is 25 us; 60 us take two more quarters, a round trip each.
    let needless = |tcp: Tcp| {
        let mut wire = Wire::new(Tcp { window_max_bytes: 20 * MSS, ..tcp }, late(60 * US));
        wire.start(2000 * MSS);
        wire.run();
        wire.sender.counters().retransmitted_packets
    };
    let (learning, static_window) = (needless(linux()), needless(Tcp { dsack: false, ..linux() }));
    assert!(static_window > 100, "{static_window}");
    assert!(learning < 15, "{learning}");
}

#[test]
fn a_needless_reduction_is_taken_back() {
    let ended = |tcp: Tcp| {
        let mut once = 0;
        let mut wire = Wire::new(tcp, |packet| {
            once += u32::from(packet.kind == Kind::Data && packet.seq / MSS == 30);
            let first = packet.kind == Kind::Data && packet.seq / MSS == 30 && once == 1;
            if first { Fate::Late(90 * US) } else { Fate::Arrives }
        });
        wire.start(200 * MSS);
        wire.run();
        assert_eq!(wire.sender.counters().retransmitted_packets, 1);
        (wire.sender.threshold_bytes(), wire.sender.window_bytes() / MSS)
    };
    let (threshold, window) = ended(linux());
    assert_eq!(threshold, u64::MAX);
    let (reduced, smaller) = ended(Tcp { dsack: false, ..linux() });
    assert!(reduced < u64::MAX && smaller < window, "{smaller} {window}");
}

#[test]
fn an_answer_to_the_first_copy_takes_a_timeout_back() {
    // The last twenty segments come later than the timeout of 10 ms, and copies never do, so that nothing arrives twice.
    let ended = |tcp: Tcp| {
        let mut wire = Wire::new(tcp, |packet| {
            let again = packet.marks & marks::RETRANSMITTED != 0;
            match packet.kind == Kind::Data && packet.seq / MSS >= 20 {
                true if again => Fate::Lost,
                true => Fate::Late(11 * MS),
                false => Fate::Arrives,
            }
        });
        wire.start(40 * MSS);
        wire.run();
        let counters = wire.sender.counters();
        assert_eq!(counters.timeouts, 1);
        (wire.sender.threshold_bytes(), counters.retransmitted_packets)
    };
    // What the timeout gave up for lost is not sent again once it is known to be late.
    assert_eq!(ended(linux()), (u64::MAX, 1));
    assert!(ended(Tcp { dsack: false, ..linux() }).0 < u64::MAX);
}

#[test]
fn a_recovery_is_taken_back_once_no_copy_is_under_way() {
    // Both are sent at 100 us and again at 200; what answers to the first copies comes at 290 and 295.
    let mut wire = Wire::new(linux(), |packet| {
        let first = packet.kind == Kind::Data && packet.marks & marks::RETRANSMITTED == 0;
        match packet.seq / MSS {
            30 if first => Fate::Late(90 * US),
            34 if first => Fate::Late(95 * US),
            _ => Fate::Arrives,
        }
    });
    wire.start(200 * MSS);
    wire.run_until(292 * US);
    assert_eq!(wire.sender.counters().retransmitted_packets, 2);
    assert!(wire.sender.threshold_bytes() < u64::MAX, "the copy of the second is under way");
    wire.run_until(297 * US);
    assert_eq!(wire.sender.threshold_bytes(), u64::MAX);
}

#[test]
fn a_reduction_for_a_loss_stays() {
    let mut wire = Wire::new(linux(), drops(&[30, 31]));
    wire.start(200 * MSS);
    wire.run();
    assert_eq!(wire.sender.counters().retransmitted_packets, 2);
    assert!(wire.sender.threshold_bytes() < u64::MAX);
}
