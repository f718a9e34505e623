//! CUBIC: RFC 9438; HyStart.

use super::*;
use crate::Kind;

fn cubic() -> Tcp {
    let control = Control::Cubic { hystart: false };
    Tcp { control, initial_window: 400, rto_min_ps: 1_000 * MS, rto_initial_ps: 1_000 * MS, ..plain() }
}

#[test]
fn the_window_follows_the_cubic() {
    // 100 ms of round trip: far from Reno's region. One loss from 400 segments.
    let mut wire = Wire::new(cubic(), drops(&[0]));
    wire.delay_ps = 50 * MS;
    wire.start(1 << 40);
    wire.run_until(15_000 * MS);
    // RFC 9438, figures 1 and 2: W(t) = C (t - K)^3 + W_max with K = cbrt(W_max (1 - beta) / C); the epoch begins
    // with the first acknowledgement after recovery.
    let (maximum, c) = (400.0f64, 0.4f64);
    let k = (maximum * 0.3 / c).cbrt();
    let epoch = 200 * MS;
    let mut seen = 0;
    for &(time, window) in wire.windows.iter().filter(|&&(time, _)| time > epoch) {
        let t = (time - epoch) as f64 * 1e-12;
        let expected = c * (t - k).powi(3) + maximum;
        let segments = window as f64 / MSS as f64;
        assert!((segments - expected).abs() <= 1.0 + 0.01 * expected, "{t}: {segments}, not {expected}");
        seen += 1;
    }
    assert!(seen > 10_000);
    let last = wire.windows.last().unwrap().1 / MSS;
    assert!(last > 500, "the convex half is reached: {last}");
    assert_eq!(wire.sender.threshold_bytes(), 280 * MSS);
}

#[test]
fn on_short_paths_the_window_grows_as_renos_would() {
    // RFC 9438, section 4.3: W_est grows by 3 (1 - beta) / (1 + beta) = 9/17 segments a round trip.
    let mut wire = Wire::new(Tcp { initial_window: 40, ..cubic() }, drops(&[0]));
    wire.start(1 << 40);
    wire.run_until(300 * US);
    let start = wire.sender.window_bytes() / MSS;
    wire.run_until(300 * US + 170 * 100 * US);
    let grown = wire.sender.window_bytes() / MSS - start;
    assert!((88..=91).contains(&grown), "{grown}");
}

#[test]
fn a_second_loss_below_the_maximum_releases_bandwidth() {
    // RFC 9438, section 4.7: W_max = cwnd (1 + beta) / 2 if cwnd is below W_max.
    let mut law = super::super::cubic::Cubic::NEW;
    assert_eq!(law.reduced(400 * MSS, MSS), 280 * MSS);
    assert_eq!(law.reduced(300 * MSS, MSS), 210 * MSS);
    // The plateau is at 255: from 210 it is reached after cbrt(45 / 0.4) = 4.83 s.
    let mut window = 210 * MSS;
    let mut plateau = 0.0;
    for step in 0..1000u64 {
        let now = step * 10 * MS;
        window = law.avoid(window, window / 10, MSS, now, 0);
        if window == 255 * MSS && plateau == 0.0 {
            plateau = now as f64 * 1e-12;
        }
    }
    assert!((3.5..=5.5).contains(&plateau), "{plateau}");
}

#[test]
fn idle_time_does_not_count() {
    // Linux: the epoch moves by the pause, but not beyond now. Here it began 0.4 s after the last sending.
    let window = |pause_ms: u64| {
        let mut law = super::super::cubic::Cubic::NEW;
        law.reduced(400 * MSS, MSS);
        law.avoid(280 * MSS, MSS, MSS, 1_000 * MS, 0);
        law.idled((400 + pause_ms) * MS, (1_000 + pause_ms) * MS);
        law.avoid(280 * MSS, 280 * MSS, MSS, (1_000 + pause_ms) * MS, 0)
    };
    assert_eq!(window(1_500), window(20_000));
    assert!(window(20_000) < 300 * MSS);
}

#[test]
fn hystart_ends_slow_start_when_the_round_trip_grows() {
    for (hystart, later_us, ends) in [(true, 6_000, true), (true, 2_000, false), (false, 6_000, false)] {
        let tcp = Tcp { control: Control::Cubic { hystart }, initial_window: 20, ..cubic() };
        let mut wire = Wire::new(tcp, move |packet| {
            let late = packet.kind == Kind::Data && packet.seq >= 60 * MSS;
            if late { Fate::Late(later_us * US) } else { Fate::Arrives }
        });
        wire.delay_ps = 10 * MS;
        wire.start(300 * MSS);
        wire.run();
        // Rounds of 20, 40, 80: the third sees the growth at its ninth acknowledgement.
        let threshold = wire.sender.threshold_bytes();
        assert_eq!(threshold, if ends { 88 * MSS } else { u64::MAX }, "{hystart} {later_us}");
    }
}

#[test]
fn hystart_begins_a_round_before_it_looks_for_a_train() {
    // Rounds of 20, 40 and 80 on a round trip of 1.5 ms; a train is longer than half of that and of the 1 ms that bursts
    // may take. Measured from the round before, the acknowledgement that opens a round would end one.
    for (spread_us, threshold) in [(0, u64::MAX), (50, 66 * MSS)] {
        let tcp = Tcp { control: Control::Cubic { hystart: true }, initial_window: 20, ..cubic() };
        let mut wire = Wire::new(tcp, move |packet| {
            let of_second = (packet.seq / MSS).saturating_sub(20);
            let spread = packet.kind == Kind::Data && of_second < 40;
            if spread { Fate::Late(of_second * spread_us * US) } else { Fate::Arrives }
        });
        wire.delay_ps = 750 * US;
        wire.start(60 * MSS);
        wire.run();
        // Acknowledgement 27 of the second round comes 1.3 ms after its first.
        assert_eq!(wire.sender.threshold_bytes(), threshold, "{spread_us}");
    }
}
