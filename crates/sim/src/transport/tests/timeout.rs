//! RFC 6298, and what follows a timeout (RFC 5681, section 3.1; RFC 6675, section 5.1).

use super::*;
use crate::transport::SendingHalf;

/// When data packets left, in microseconds.
fn times_us<F: FnMut(&crate::Packet) -> Fate>(wire: &Wire<F>) -> Vec<u64> {
    wire.data().map(|(time, _)| time / US).collect()
}

#[test]
fn each_timeout_doubles_the_next() {
    let mut wire = Wire::new(plain(), drops(&[0; 4]));
    wire.start(MSS);
    wire.run();
    assert_eq!(times_us(&wire), [0, 20_000, 60_000, 140_000, 300_000]);
    assert_eq!(wire.sender.counters().timeouts, 4);
    assert_eq!(wire.sender.counters().retransmitted_packets, 4);
}

#[test]
fn back_off_ends_at_the_largest_timeout() {
    let mut wire = Wire::new(Tcp { rto_max_ps: 50 * MS, ..plain() }, drops(&[0; 4]));
    wire.start(MSS);
    wire.run();
    assert_eq!(times_us(&wire), [0, 20_000, 60_000, 110_000, 160_000]);
}

#[test]
fn the_timeout_follows_the_measured_round_trips() {
    // RFC 6298, section 2: R = 100 us: RTO = R + 4 R / 2, then RTTVAR = 3/4 RTTVAR.
    for (measured, rto_min_us, rto_us) in [(1, 0, 300), (2, 0, 250), (1, 290, 300), (1, 10_000, 10_000)] {
        let tcp = Tcp { rto_min_ps: rto_min_us * US, ..plain() };
        let mut wire = Wire::new(tcp, drops(&[measured]));
        wire.start(MSS);
        for round in 1..=measured {
            wire.run_until(100 * round * US);
            wire.write(MSS);
        }
        wire.run();
        let times = times_us(&wire);
        let [.., lost, again] = times[..] else { panic!("{times:?}") };
        assert_eq!(again - lost, rto_us, "{measured} {rto_min_us}");
    }
}

#[test]
fn a_retransmission_is_not_measured() {
    // Karn: the answer at 20.1 ms says nothing; the next segment's timeout is still the initial one.
    let mut wire = Wire::new(plain(), drops(&[0, 1]));
    wire.start(MSS);
    wire.run_until(20_100 * US);
    wire.write(MSS);
    wire.run();
    assert_eq!(times_us(&wire), [0, 20_000, 20_100, 40_100]);
}

#[test]
fn a_timeout_slow_starts_through_what_is_lost() {
    let mut wire = Wire::new(plain(), drops(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    wire.start(12 * MSS);
    wire.run();
    // Half of ten outstanding is five: 1, 2, 4, then congestion avoidance with 5.
    let mut expected = vec![0; 10];
    for (round, segments) in [(0, 1), (1, 2), (2, 4), (3, 5)] {
        expected.extend(vec![20_000 + 100 * round; segments]);
    }
    assert_eq!(times_us(&wire), expected);
    assert_eq!(wire.sender.threshold_bytes(), 5 * MSS);
}

#[test]
fn a_timeout_does_not_send_again_what_was_sacked() {
    // The retransmission is lost too, which RFC 6675 leaves to the timeout.
    let mut wire = Wire::new(plain(), drops(&[0, 0]));
    wire.start(10 * MSS);
    wire.run();
    assert_eq!(wire.sender.counters().timeouts, 1);
    assert_eq!(wire.sender.counters().retransmitted_packets, 2);
    assert_eq!(wire.sender.counters().sent_packets, 12);
}

#[test]
fn without_sack_duplicates_after_a_timeout_start_no_recovery() {
    // RFC 6582, section 3.2: after the timeout all ten are sent again, nine of them for nothing.
    let tcp = Tcp { sack: false, ..plain() };
    let mut wire = Wire::new(tcp, drops(&[0, 0]));
    wire.start(100 * MSS);
    wire.run();
    assert_eq!(wire.sender.counters().timeouts, 1);
    // Ten outstanding at the loss: five; and the timeout does not lower it again.
    assert_eq!(wire.sender.threshold_bytes(), 5 * MSS);
    assert!(wire.sender.is_idle());
}

#[test]
fn a_second_lost_syn_leaves_a_window_of_one_segment() {
    for (lost, times) in [(1, [20_100, 20_100, 20_100]), (2, [60_100, 60_200, 60_200])] {
        let mut sent = 0;
        let mut wire = Wire::new(Tcp { handshake: true, ..plain() }, move |_| {
            sent += 1;
            if sent > lost { Fate::Arrives } else { Fate::Lost }
        });
        wire.start(3 * MSS);
        wire.run();
        assert_eq!(times_us(&wire), times);
        assert_eq!(wire.sender.counters().timeouts, lost);
    }
}
