//! RFC 5681, section 3.1; RFC 6928.

use super::*;
use crate::transport::{ReceivingHalf, SendingHalf};

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut wire = Wire::new(plain(), |_| Fate::Arrives);
    wire.start(1000 * MSS);
    wire.run();
    assert_eq!(wire.data_by_round(), [10, 20, 40, 80, 160, 320, 370]);
    assert!(wire.sender.is_idle());
    assert_eq!(wire.sender.counters().sent_packets, 1000);
    assert_eq!(wire.sender.counters().sent_bytes, 1000 * MSS);
}

#[test]
fn a_delayed_acknowledgement_counts_the_bytes_it_acknowledges() {
    // RFC 3465: acknowledging every second segment does not slow the doubling.
    let mut wire = Wire::new(Tcp { ack_every: 2, ..plain() }, |_| Fate::Arrives);
    wire.start(1000 * MSS);
    wire.run();
    assert_eq!(wire.data_by_round(), [10, 20, 40, 80, 160, 320, 370]);
    assert_eq!(wire.acks().count(), 500);
}

#[test]
fn a_flow_takes_as_many_rounds_as_windows() {
    // The last byte of n segments arrives half a round trip after the round that sends it.
    for (segments, round) in
        [(1, 0), (10, 0), (11, 1), (30, 1), (31, 2), (70, 2), (71, 3), (150, 3), (151, 4)]
    {
        let mut wire = Wire::new(plain(), |_| Fate::Arrives);
        wire.start(segments * MSS);
        wire.run();
        assert_eq!(wire.delivered_at(segments * MSS), (100 * round + 50) * US, "{segments}");
    }
}

#[test]
fn a_handshake_costs_one_round_trip() {
    let mut wire = Wire::new(Tcp { handshake: true, ..plain() }, |_| Fate::Arrives);
    wire.start(30 * MSS);
    wire.run();
    assert_eq!(wire.delivered_at(30 * MSS), 250 * US);
}

#[test]
fn the_window_limit_bounds_what_is_outstanding() {
    let mut wire = Wire::new(Tcp { window_max_bytes: 25 * MSS, ..plain() }, |_| Fate::Arrives);
    wire.start(200 * MSS);
    wire.run();
    assert_eq!(wire.data_by_round(), [10, 20, 25, 25, 25, 25, 25, 25, 20]);
    assert_eq!(wire.sender.window_bytes(), 25 * MSS);
}

#[test]
fn a_window_that_data_do_not_fill_does_not_grow() {
    let mut wire = Wire::new(plain(), |_| Fate::Arrives);
    wire.start(5 * MSS);
    wire.run();
    for _ in 0..20 {
        wire.write(5 * MSS);
        wire.run();
    }
    assert_eq!(wire.sender.window_bytes(), 10 * MSS);
    assert_eq!(wire.receiver.delivered(), 105 * MSS);
}
