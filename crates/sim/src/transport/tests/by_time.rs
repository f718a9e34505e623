//! RACK: RFC 8985.

use super::*;
use crate::Kind;
use crate::transport::{ReceivingHalf, SendingHalf};

fn rack() -> Tcp {
    Tcp { rack: true, initial_window: 20, ..plain() }
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    for (rack_on, timeouts) in [(true, 0), (false, 1)] {
        let mut wire = Wire::new(Tcp { rack: rack_on, ..rack() }, drops(&[2, 2]));
        wire.start(400 * MSS);
        wire.run();
        assert_eq!(wire.sender.counters().timeouts, timeouts);
        assert_eq!(wire.sender.counters().retransmitted_packets, 2, "{rack_on}");
    }
}

#[test]
fn two_segments_behind_a_loss_are_enough_after_a_quarter_of_a_round_trip() {
    // Section 6.2, step 4: below the threshold of duplicates it waits for min_RTT / 4.
    let mut wire = Wire::new(Tcp { initial_window: 3, ..rack() }, drops(&[4]));
    wire.start(3 * MSS);
    wire.run_until(100 * US);
    wire.write(3 * MSS);
    wire.run();
    let again = wire.data().find(|(_, p)| p.marks & crate::marks::RETRANSMITTED != 0).unwrap();
    assert_eq!((again.0 / US, again.1.seq / MSS), (100 + 100 + 25, 4));
    assert_eq!(wire.sender.counters().timeouts, 0);
}

#[test]
fn reordering_within_its_window_is_no_loss_once_reordering_was_seen() {
    // The first late segment has only two behind it, so that it is waited for; then many are behind.
    let mut wire = Wire::new(rack(), |packet| {
        let late = packet.kind == Kind::Data && matches!(packet.seq / MSS, 2 | 50 | 90 | 130);
        if late { Fate::Late(20 * US) } else { Fate::Arrives }
    });
    wire.start(5 * MSS);
    wire.run();
    wire.write(400 * MSS);
    wire.run();
    assert_eq!(wire.receiver.counters().reordered_packets, 4);
    assert_eq!(wire.sender.counters().retransmitted_packets, 0);
    assert_eq!(wire.sender.threshold_bytes(), u64::MAX);
}
