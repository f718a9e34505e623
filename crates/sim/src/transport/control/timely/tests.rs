use super::*;

const PATH: PathFacts = PathFacts {
    rate_bps: 10_000_000_000,
    rtt_ps: 20_000_000,
    frame_bytes: 1048,
    header_bytes: 48,
    began_ps: 0,
};

/// Acknowledges a round trip of so many microseconds.
fn round(law: &mut Timely, rtt_us: u64) {
    let una = law.round_end + 1;
    law.on_ack(&Answer {
        now_ps: 0,
        bytes: 1048,
        marked: false,
        rtt_ps: Some(rtt_us * 1_000_000),
        una,
        next: una + 1000,
        in_flight_bytes: 0,
        hops: &[],
    });
}

/// Worked by hand from algorithm 1, with steps of 4 Mbit/s.
#[test]
fn steps_are_those_of_algorithm_1() {
    let mut law = Timely::new(&TimelySettings::DEFAULT, &PATH);
    round(&mut law, 100);
    assert_eq!(law.rate_bps(), 10_000_000_000, "nothing to be compared with");
    let close = |law: &Timely, rate_bps: f64| assert!((law.rate_bps - rate_bps).abs() < 1.0, "{rate_bps}");
    // 0.875 * 10 us over 20 us: gradient 0.4375; times 1 - 0.8 * 0.4375.
    round(&mut law, 110);
    close(&law, 6_500_000_000.0);
    // 0.125 * 8.75 - 0.875 * 20 us: falls, so a step.
    round(&mut law, 90);
    close(&law, 6_504_000_000.0);
    // Below 50 us always a step, above 500 us always down: times 1 - 0.8 * (1 - 500 / 1000).
    round(&mut law, 49);
    close(&law, 6_508_000_000.0);
    round(&mut law, 1000);
    close(&law, 3_904_800_000.0);
    // Falling round trips: four single steps, then steps five times as large.
    for (rtt_us, rate_bps) in [(490, 1), (480, 2), (470, 3), (460, 4), (450, 9), (440, 14)] {
        round(&mut law, rtt_us);
        close(&law, 3_904_800_000.0 + f64::from(rate_bps) * 4_000_000.0);
    }
}

/// Once in a round trip, and never from a packet sent twice.
#[test]
fn other_acknowledgements_change_nothing() {
    let mut law = Timely::new(&TimelySettings::DEFAULT, &PATH);
    round(&mut law, 100);
    let before = law.clone();
    let answer = Answer {
        now_ps: 0,
        bytes: 1048,
        marked: false,
        rtt_ps: Some(600_000_000),
        una: law.round_end,
        next: law.round_end + 1000,
        in_flight_bytes: 0,
        hops: &[],
    };
    law.on_ack(&answer);
    law.on_ack(&Answer { rtt_ps: None, una: law.round_end + 1, ..answer });
    assert_eq!(law, before);
}
