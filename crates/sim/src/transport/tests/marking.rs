//! Congestion marks: RFC 3168, RFC 8257.

use super::*;
use crate::transport::{ReceivingHalf, SendingHalf};
use crate::{Kind, marks};

fn dctcp() -> Tcp {
    Tcp { control: Control::Dctcp { gain: 1.0 / 16.0 }, ecn: true, ..plain() }
}

/// Marks these segments.
fn marked(segments: std::ops::Range<u64>) -> impl FnMut(&crate::Packet) -> Fate {
    move |packet| {
        let hit = packet.kind == Kind::Data && segments.contains(&(packet.seq / MSS));
        if hit { Fate::Marked(marks::EXPERIENCED) } else { Fate::Arrives }
    }
}

#[test]
fn marks_of_one_window_reduce_it_once() {
    let mut wire = Wire::new(Tcp { ecn: true, initial_window: 20, ..plain() }, marked(0..20));
    wire.start(300 * MSS);
    wire.run();
    // The first echo finds 19 outstanding.
    assert_eq!(wire.sender.threshold_bytes(), 19 * MSS / 2);
    assert_eq!(wire.sender.counters().retransmitted_packets, 0);
    assert_eq!(wire.receiver.counters().marked_packets, 20);
    let reduced = wire.data().filter(|(_, p)| p.marks & marks::REDUCED != 0).map(|(_, p)| p.seq / MSS);
    assert_eq!(reduced.collect::<Vec<_>>(), [20]);
    // Echoes go on until that segment arrives.
    let echoes = wire.acks().filter(|(_, p)| p.marks & marks::ECHO != 0).count();
    assert_eq!(echoes, 20);
}

#[test]
fn marks_of_the_next_window_reduce_again() {
    let mut wire = Wire::new(Tcp { ecn: true, initial_window: 20, ..plain() }, marked(0..60));
    wire.start(300 * MSS);
    wire.run();
    let reduced = wire.data().filter(|(_, p)| p.marks & marks::REDUCED != 0).count();
    assert!(reduced >= 3, "{reduced}");
    assert!(wire.sender.threshold_bytes() <= 4 * MSS);
}

#[test]
fn only_new_data_is_capable_of_marks_except_under_dctcp() {
    for (tcp, all) in [(Tcp { ecn: true, ..plain() }, false), (dctcp(), true)] {
        let mut wire = Wire::new(Tcp { handshake: true, ..tcp }, drops(&[3]));
        wire.start(50 * MSS);
        wire.run();
        assert_eq!(wire.sender.counters().retransmitted_packets, 1);
        for (_, packet) in &wire.log {
            let new = packet.kind == Kind::Data && packet.marks & marks::RETRANSMITTED == 0;
            assert_eq!(packet.marks & marks::CAPABLE != 0, new || all, "{packet:?}");
        }
    }
}

#[test]
fn alpha_decays_by_its_gain_in_each_window_without_marks() {
    // RFC 8257, section 3.3: alpha = (1 - g) alpha + g M, from 1. A window of ten segments, so 1000 segments are a
    // hundred windows; the first observation ends with the first acknowledgement, the others follow once a round.
    let mut wire = Wire::new(Tcp { window_max_bytes: 10 * MSS, ..dctcp() }, |_| Fate::Arrives);
    wire.start(1000 * MSS);
    for windows in 1..=100 {
        wire.run_until(100 * windows * US);
        let alpha = wire.sender.marked_fraction().unwrap();
        assert!((alpha - (15.0f64 / 16.0).powi(windows as i32)).abs() < 1e-12, "{windows}: {alpha}");
    }
}

#[test]
fn alpha_follows_the_fraction_of_marked_bytes() {
    // RFC 8257, section 3.3, steps 4 to 8, with 20 segments outstanding: the first observation is the first
    // acknowledgement, each later one the 21 up to the first beyond SND.NXT as it was.
    let gain = 1.0 / 16.0;
    let marked = |segment: u64| segment.is_multiple_of(7) || (60..110).contains(&segment);
    let mut estimate = super::super::dctcp::Dctcp::NEW;
    let mut expected = 1.0;
    for observation in 0..10u64 {
        let segments = if observation == 0 { 0..1 } else { 21 * observation - 20..21 * observation + 1 };
        let (count, hits) = (segments.clone().count(), segments.clone().filter(|&s| marked(s)).count());
        for segment in segments {
            let una = (segment + 1) * MSS;
            estimate.observe(MSS, marked(segment), una, una + 20 * MSS, gain);
        }
        expected = (1.0 - gain) * expected + gain * hits as f64 / count as f64;
        assert!((estimate.alpha() - expected).abs() < 1e-12, "{observation}");
    }
}

#[test]
fn a_window_is_cut_by_half_of_alpha() {
    let rounds = 20;
    let first = 40 * rounds;
    let tcp = Tcp { window_max_bytes: 40 * MSS, initial_window: 40, ..dctcp() };
    let mut wire = Wire::new(tcp, marked(first..first + 1));
    wire.start(2000 * MSS);
    wire.run_until((100 * (rounds + 1) + 99) * US);
    // The marked segment's acknowledgement ends an observation, and is the one in 40 marked of it.
    let before = (15.0f64 / 16.0).powi(rounds as i32);
    let alpha = 15.0 / 16.0 * before + 1.0 / 16.0 / 40.0;
    let cut = 40.0 * MSS as f64 * alpha / 2.0;
    assert_eq!(wire.sender.threshold_bytes(), 40 * MSS - cut as u64);
}

#[test]
fn a_window_that_is_marked_throughout_halves_each_round_trip_down_to_two_segments() {
    let tcp = Tcp { window_max_bytes: 64 * MSS, initial_window: 64, ..dctcp() };
    let mut wire = Wire::new(tcp, marked(0..u64::MAX));
    wire.start(1000 * MSS);
    wire.run();
    assert!((wire.sender.marked_fraction().unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(wire.sender.threshold_bytes(), 2 * MSS);
    assert_eq!(wire.data_by_round()[..6], [64, 32, 16, 8, 4, 2]);
}

#[test]
fn a_change_of_marks_is_acknowledged_at_once() {
    // RFC 8257, section 3.2, every second segment acknowledged: 3, 4 and 5 are marked.
    let mut wire = Wire::new(Tcp { ack_every: 2, ..dctcp() }, marked(3..6));
    wire.start(8 * MSS);
    wire.run_until(60 * US);
    let acks = wire.acks().map(|(_, p)| (p.seq / MSS, p.marks & marks::ECHO != 0)).collect::<Vec<_>>();
    assert_eq!(acks, [(2, false), (3, false), (4, true), (6, true), (7, false)]);
}

#[test]
fn a_loss_halves_the_window_under_dctcp_too() {
    let mut wire = Wire::new(Tcp { initial_window: 40, ..dctcp() }, drops(&[0]));
    wire.start(400 * MSS);
    wire.run();
    assert_eq!(wire.sender.threshold_bytes(), 20 * MSS);
}
