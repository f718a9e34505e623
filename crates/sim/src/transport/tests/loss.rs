//! Fast retransmit and recovery: RFC 5681, 6582, 6675, 3042, 6937.

use super::*;
use crate::Kind;
use crate::transport::{ReceivingHalf, SendingHalf};

/// Segments sent again: time in microseconds, number.
fn again<F: FnMut(&crate::Packet) -> Fate>(wire: &Wire<F>) -> Vec<(u64, u64)> {
    wire.data()
        .filter(|(_, packet)| packet.marks & crate::marks::RETRANSMITTED != 0)
        .map(|(time, packet)| (time / US, packet.seq / MSS))
        .collect()
}

#[test]
fn so_many_duplicates_as_the_threshold_says_are_a_loss() {
    for (threshold, sack) in [(3, true), (3, false), (5, true), (5, false)] {
        for behind in 1..8 {
            let tcp = Tcp { dup_ack_threshold: threshold, sack, ..plain() };
            let mut wire = Wire::new(tcp, drops(&[0]));
            wire.start((1 + behind) * MSS);
            wire.run();
            let fast = behind >= u64::from(threshold);
            // Without a measurement the timeout is the initial one.
            let repaired = if fast { 100 } else { 20_000 };
            assert_eq!(again(&wire), [(repaired, 0)], "{threshold} {sack} {behind}");
            assert_eq!(wire.sender.counters().timeouts, u32::from(!fast));
        }
    }
}

#[test]
fn with_sack_three_losses_of_a_window_take_one_round_trip() {
    let mut wire = Wire::new(Tcp { initial_window: 20, ..plain() }, drops(&[5, 8, 11]));
    wire.start(20 * MSS);
    wire.run();
    assert_eq!(again(&wire), [(100, 5), (100, 8), (100, 11)]);
    assert_eq!(wire.delivered_at(20 * MSS), 150 * US);
    assert_eq!(wire.sender.counters().timeouts, 0);
}

#[test]
fn without_sack_each_loss_takes_a_round_trip() {
    let tcp = Tcp { initial_window: 20, sack: false, ..plain() };
    let mut wire = Wire::new(tcp, drops(&[5, 8, 11]));
    wire.start(20 * MSS);
    wire.run();
    assert_eq!(again(&wire), [(100, 5), (200, 8), (300, 11)]);
    assert_eq!(wire.delivered_at(20 * MSS), 350 * US);
    assert!(wire.acks().all(|(_, packet)| packet.sack[0].end == 0));
}

#[test]
fn losses_of_one_window_halve_it_once() {
    for sack in [true, false] {
        let tcp = Tcp { initial_window: 40, sack, ..plain() };
        let mut wire = Wire::new(tcp, drops(&[0, 1, 5, 9, 20]));
        wire.start(400 * MSS);
        wire.run_until(150 * US);
        // 40 outstanding, and limited transmit's two segments that do not count.
        assert_eq!(wire.sender.threshold_bytes(), 20 * MSS, "{sack}");
        wire.run();
        assert_eq!(wire.sender.threshold_bytes(), 20 * MSS, "{sack}");
        assert_eq!(again(&wire).len(), 5);
        assert_eq!(wire.sender.counters().timeouts, 0);
    }
}

#[test]
fn the_window_is_the_threshold_after_recovery() {
    let mut wire = Wire::new(Tcp { initial_window: 40, ..plain() }, drops(&[0]));
    wire.start(4000 * MSS);
    wire.run_until(200 * US);
    // The repair's acknowledgement ends recovery; the rest of that round trip's grow the window by less than one.
    assert_eq!(wire.sender.window_bytes(), 20 * MSS);
    wire.run_until(300 * US);
    assert_eq!(wire.sender.window_bytes(), 21 * MSS);
}

#[test]
fn proportional_rate_reduction_sends_one_segment_for_two_delivered() {
    let mut wire = Wire::new(Tcp { initial_window: 40, ..plain() }, drops(&[0]));
    wire.start(4000 * MSS);
    wire.run_until(100 * US);
    // 39 duplicates: two by limited transmit, then half of what is delivered (RFC 6937: 37 or 38 after the second,
    // times 20 / 42 of RecoverFS, the retransmission included).
    assert_eq!(wire.data_by_round(), [40, 2 + 18]);
}

#[test]
fn limited_transmit_sends_new_data_for_the_first_two_duplicates() {
    for sack in [true, false] {
        // Segments 3 to 9 are lost, so only 1 and 2 cause duplicates.
        let mut wire = Wire::new(Tcp { sack, ..plain() }, drops(&[0, 3, 4, 5, 6, 7, 8, 9]));
        wire.start(100 * MSS);
        wire.run_until(100 * US);
        let new = wire.data().filter(|&&(time, _)| time == 100 * US).map(|(_, p)| p.seq / MSS);
        assert_eq!(new.collect::<Vec<_>>(), [10, 11], "{sack}");
        assert_eq!(wire.sender.counters().triple_duplicates, 0, "two in a row");
    }
}

#[test]
fn reordering_beyond_the_threshold_is_taken_for_a_loss() {
    for (threshold, spurious) in [(3, 1), (20, 0)] {
        let mut late = Some(4);
        let tcp = Tcp { dup_ack_threshold: threshold, initial_window: 20, ..plain() };
        let mut wire = Wire::new(tcp, move |packet| {
            if packet.kind == Kind::Data && late == Some(packet.seq / MSS) {
                late = None;
                return Fate::Late(60 * US);
            }
            Fate::Arrives
        });
        wire.start(200 * MSS);
        wire.run();
        assert_eq!(wire.sender.counters().retransmitted_packets, spurious);
        assert_eq!(wire.sender.threshold_bytes() < u64::MAX, spurious == 1);
        assert_eq!(wire.receiver.counters().reordered_packets, 1);
        // Whatever is taken for a loss, and however many duplicates come after the third.
        assert_eq!(wire.sender.counters().triple_duplicates, 1);
    }
}

#[test]
fn an_acknowledgement_reports_the_newest_block_first() {
    // RFC 2018, section 4: 0, 2, 4, 6 and 8 arrive.
    let mut wire = Wire::new(plain(), drops(&[1, 3, 5, 7]));
    wire.start(9 * MSS);
    wire.run_until(60 * US);
    let blocks = |packet: &crate::Packet| {
        packet.sack.map(|b| ((packet.seq + u64::from(b.start)) / MSS, (packet.seq + u64::from(b.end)) / MSS))
    };
    let reported = wire.acks().map(|(_, p)| (p.seq / MSS, blocks(p))).collect::<Vec<_>>();
    let none = (1, 1);
    assert_eq!(
        reported,
        [
            (1, [none; 3]),
            (1, [(2, 3), none, none]),
            (1, [(4, 5), (2, 3), none]),
            (1, [(6, 7), (4, 5), (2, 3)]),
            (1, [(8, 9), (6, 7), (4, 5)]),
        ]
    );
}
