//! The port against a port that keeps every packet for ever and looks at all of them each time.

use super::*;
use anabranch_fabric::Buffer;
use anabranch_fabric::Rate;
use proptest::prelude::*;

const GAP: u16 = 20;

fn port(rate_bps: u64, delay_ps: u64, buffer: Buffer, marking: Marking) -> EgressPort {
    let rate = Rate::from_bps(rate_bps).unwrap();
    let port = Port { from: 0, to: 1, reverse: 1, rate, delay_ps, cost: 1, buffer, marking };
    EgressPort::new(&port, GAP, 1)
}

fn packet(frame_bytes: u16, capable: bool) -> Packet {
    Packet { frame_bytes, marks: if capable { marks::CAPABLE } else { 0 }, ..Packet::default() }
}

#[derive(Clone, Copy)]
struct Served {
    in_ps: u64,
    start_ps: u64,
    end_ps: u64,
    bytes: u64,
}

/// The slow twin.
struct Naive {
    served: Vec<Served>,
    ps_per_byte: u64,
    dropped: u64,
    marked: u64,
}

impl Naive {
    fn backlog(&self, now_ps: u64) -> (u64, u64) {
        let waiting = self.served.iter().filter(|s| s.end_ps > now_ps);
        waiting.fold((0, 0), |(bytes, packets), s| (bytes + s.bytes, packets + 1))
    }

    /// Time of sending between two times.
    fn busy_ps(&self, from_ps: u64, to_ps: u64) -> u64 {
        let within = |s: &Served| s.end_ps.min(to_ps).saturating_sub(s.start_ps.max(from_ps));
        self.served.iter().map(within).sum()
    }

    /// Integral of the backlog between two times, by the packets' stays.
    fn area(&self, from_ps: u64, to_ps: u64) -> u128 {
        let stay = |s: &Served| s.end_ps.min(to_ps).saturating_sub(s.in_ps.max(from_ps));
        self.served.iter().map(|s| u128::from(s.bytes) * u128::from(stay(s))).sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn agrees_with_a_port_that_forgets_nothing(
        steps in prop::collection::vec((0u64..4_000_000, 64u16..1519, any::<bool>(), 0u8..12), 1..300),
        delay_ps in 0u64..5_000_000,
        buffer_packets in 1u32..30,
        buffer_bytes in 2_000u32..40_000,
        mark_packets in 0u32..20,
        mark_bytes in 1u32..30_000,
    ) {
        let buffer = Buffer { bytes: buffer_bytes, packets: buffer_packets };
        let marking = Marking::Step { bytes: mark_bytes, packets: mark_packets };
        let mut port = port(10_000_000_000, delay_ps, buffer, marking);
        let mut naive = Naive { served: Vec::new(), ps_per_byte: 800, dropped: 0, marked: 0 };
        let (mut now_ps, mut interval_ps, mut counted) = (0, 0, (0, 0));
        let mut expected_arrivals = std::collections::VecDeque::new();
        let mut next_arrival = NEVER_PS;
        for (id, (wait_ps, frame_bytes, capable, what)) in (0..).map(PacketId).zip(steps) {
            let until_ps = now_ps + wait_ps;
            // Arrivals on the way, in order.
            while next_arrival <= until_ps {
                let (arrived, next_ps) = port.arrive();
                let (expected_id, expected_ps) = expected_arrivals.pop_front().unwrap();
                prop_assert_eq!((arrived, next_arrival), (expected_id, expected_ps));
                next_arrival = next_ps;
            }
            now_ps = until_ps;
            if what == 0 {
                let record = port.end_interval(7, interval_ps, now_ps);
                let sent: Vec<&Served> =
                    naive.served.iter().filter(|s| (interval_ps..now_ps).contains(&s.start_ps)).collect();
                prop_assert_eq!(record.sent_packets, sent.len() as u64);
                prop_assert_eq!(record.sent_bytes, sent.iter().map(|s| s.bytes).sum::<u64>());
                prop_assert_eq!(record.backlog_byte_ps, naive.area(interval_ps, now_ps));
                prop_assert_eq!(record.busy_ps, naive.busy_ps(interval_ps, now_ps));
                prop_assert_eq!((record.dropped_packets, record.marked_packets),
                    (naive.dropped - counted.0, naive.marked - counted.1));
                counted = (naive.dropped, naive.marked);
                interval_ps = now_ps;
                continue;
            }
            let mut packet = packet(frame_bytes, capable);
            let (waiting_bytes, waiting_packets) = naive.backlog(now_ps);
            prop_assert_eq!(port.backlog_bytes(now_ps), waiting_bytes);
            let bytes = u64::from(frame_bytes);
            let fits = waiting_bytes + bytes <= u64::from(buffer_bytes)
                && waiting_packets < u64::from(buffer_packets);
            let marks = capable
                && (waiting_bytes >= u64::from(mark_bytes) || waiting_packets >= u64::from(mark_packets));
            match port.enqueue::<false>(now_ps, id, &mut packet) {
                Verdict::Dropped => {
                    prop_assert!(!fits);
                    naive.dropped += 1;
                    continue;
                }
                Verdict::Lost | Verdict::Displaced(_) => prop_assert!(false, "nothing is dead here, nor drawn by lot"),
                Verdict::Next(arrive_ps) => {
                    prop_assert!(expected_arrivals.is_empty());
                    next_arrival = arrive_ps;
                }
                Verdict::Queued => prop_assert!(!expected_arrivals.is_empty()),
            }
            prop_assert!(fits);
            prop_assert_eq!(packet.marks & marks::EXPERIENCED != 0, marks);
            naive.marked += u64::from(marks);
            let start_ps = naive.served.last().map_or(0, |s| s.end_ps).max(now_ps);
            let end_ps = start_ps + (bytes + u64::from(GAP)) * naive.ps_per_byte;
            naive.served.push(Served { in_ps: now_ps, start_ps, end_ps, bytes });
            expected_arrivals.push_back((id, end_ps + delay_ps));
        }
    }
}

/// A port has no room for packets before the first one comes.
#[test]
fn a_port_without_a_packet_has_none_to_come() {
    let port = port(10_000_000_000, 1_000_000, Buffer::UNLIMITED, Marking::Off);
    assert_eq!((port.next_arrival_ps(), port.coming(0), port.newest()), (NEVER_PS, None, None));
}

#[test]
fn a_slower_rate_stretches_what_is_left_and_what_waits() {
    let mut port = port(10_000_000_000, 1_000_000, Buffer::UNLIMITED, Marking::Off);
    // 1230 bytes and a gap of 20: a microsecond each.
    assert!(matches!(
        port.enqueue::<false>(0, PacketId(0), &mut packet(1230, false)),
        Verdict::Next(2_000_000)
    ));
    assert!(matches!(port.enqueue::<false>(0, PacketId(1), &mut packet(1230, false)), Verdict::Queued));
    // Half of the first frame is out; the other half takes twice its time, the second frame two microseconds.
    let next_ps = port.set_rate(500_000, Rate::from_bps(5_000_000_000).unwrap());
    assert_eq!(next_ps, Some(2_500_000));
    assert_eq!(port.arrive(), (PacketId(0), 4_500_000));
    assert_eq!(port.arrive(), (PacketId(1), NEVER_PS));
    let record = port.end_interval(0, 0, 5_000_000);
    assert_eq!(record.backlog_byte_ps, 1230 * (1_500_000 + 3_500_000));
    assert_eq!(record.busy_ps, 3_500_000);
}

/// A rate that falls for a picosecond makes no frame faster: shares of a frame that are no whole picoseconds round up.
#[test]
fn a_rate_that_falls_and_returns_saves_no_time() {
    let fast = Rate::from_bps(19_204_011_856).unwrap();
    let mut prompt = port(fast.bps(), 0, Buffer::UNLIMITED, Marking::Off);
    let Verdict::Next(end_ps) = prompt.enqueue::<false>(0, PacketId(0), &mut packet(377, false)) else {
        panic!("a port that is free sends at once");
    };
    for slow_bps in [11_976_366_515, 19_204_011_855, 7_000_000_001, 64_000] {
        for at_ps in [1, 1_000, end_ps / 3, end_ps - 2] {
            let mut port = port(fast.bps(), 0, Buffer::UNLIMITED, Marking::Off);
            port.enqueue::<false>(0, PacketId(0), &mut packet(377, false));
            port.set_rate(at_ps, Rate::from_bps(slow_bps).unwrap());
            let late_ps = port.set_rate(at_ps + 1, fast).unwrap();
            assert!(late_ps >= end_ps, "{slow_bps} bps at {at_ps} ps: {late_ps} ps, not {end_ps}");
            assert!(late_ps <= end_ps + 2, "{slow_bps} bps at {at_ps} ps: {late_ps} ps, not {end_ps}");
        }
    }
}

/// A frame that is being sent when the rate falls has begun, however long it takes from then on: once in the interval
/// in which it began.
#[test]
fn a_frame_in_service_has_begun_at_whatever_rate_it_ends() {
    let mut port = port(10_000_000_000, 1_000_000, Buffer::UNLIMITED, Marking::Off);
    port.enqueue::<false>(0, PacketId(0), &mut packet(1230, false));
    port.enqueue::<false>(0, PacketId(1), &mut packet(1230, false));
    // A tenth is left, for 10 us at a hundredth of the rate; then half of that takes a twentieth.
    port.set_rate(900_000, Rate::from_bps(100_000_000).unwrap());
    assert_eq!(port.sent_bytes(900_000), 1230);
    assert_eq!(port.set_rate(5_900_000, Rate::from_bps(2_000_000_000).unwrap()), Some(7_150_000));
    assert_eq!(port.sent_bytes(6_000_000), 1230);
    let record = port.end_interval(0, 0, 6_000_000);
    assert_eq!((record.sent_packets, record.sent_bytes, record.busy_ps), (1, 1230, 6_000_000));
    // The second frame takes 5 us from 6.15 us on.
    assert_eq!(port.arrive(), (PacketId(0), 12_150_000));
    let record = port.end_interval(0, 6_000_000, 12_000_000);
    assert_eq!((record.sent_packets, record.sent_bytes, record.busy_ps), (1, 1230, 5_150_000));
}

/// A frame that began at a fast rate and ends at a slow one would, at the slow one, have begun before time did.
#[test]
fn a_frame_in_service_keeps_its_slot_at_whatever_rate_it_ends() {
    let one = Buffer { packets: 1, ..Buffer::UNLIMITED };
    let mut port = port(10_000_000_000, 1_000_000, one, Marking::Off);
    port.set_jitter(Stream::new(1, "lots"));
    port.enqueue::<false>(0, PacketId(0), &mut packet(1230, false));
    port.set_rate(900_000, Rate::from_bps(100_000).unwrap());
    for id in 1..64 {
        let verdict = port.enqueue::<false>(1_000_000, PacketId(id), &mut packet(1230, false));
        assert!(matches!(verdict, Verdict::Dropped));
    }
}

/// More than 4 GiB wait: they are counted, mark, and weigh in a choice.
#[test]
fn a_backlog_beyond_four_gibibytes_is_known() {
    let marking = Marking::Step { bytes: 1_000_000, packets: u32::MAX };
    let mut port = port(64_000, 0, Buffer::UNLIMITED, marking);
    let frames = (1 << 32) / 65_000 + 10u64;
    for id in (0..frames as u32).map(PacketId) {
        port.enqueue::<false>(0, id, &mut packet(65_000, false));
    }
    assert_eq!(port.backlog_bytes(0), frames * 65_000);
    let mut last = packet(65_000, true);
    port.enqueue::<false>(0, PacketId(0), &mut last);
    assert_ne!(last.marks & marks::EXPERIENCED, 0);
    let record = port.end_interval(0, 0, 1_000_000);
    assert_eq!(record.backlog_max_bytes, (frames + 1) * 65_000);
}

#[test]
fn a_dead_port_loses_what_it_holds_and_what_comes() {
    let mut port = port(10_000_000_000, 1_000_000, Buffer::UNLIMITED, Marking::Off);
    for id in (0..3).map(PacketId) {
        port.enqueue::<false>(0, id, &mut packet(1230, false));
    }
    assert_eq!(port.go_down(1_500_000), [0, 1, 2].map(PacketId));
    assert!(matches!(port.enqueue::<false>(1_600_000, PacketId(3), &mut packet(1230, false)), Verdict::Lost));
    port.go_up();
    assert!(matches!(
        port.enqueue::<false>(1_700_000, PacketId(4), &mut packet(1230, false)),
        Verdict::Next(3_700_000)
    ));
    let record = port.end_interval(0, 0, 3_000_000);
    // Two frames had begun; the third never did.
    assert_eq!((record.sent_packets, record.sent_bytes, record.lost_packets), (3, 3 * 1230, 4));
    assert_eq!(record.busy_ps, 1_500_000 + 1_000_000);
}

#[test]
fn red_marks_or_drops_between_its_limits() {
    let ramp = Marking::Ramp { low_bytes: 2_000, high_bytes: 10_000, probability: 0.5 };
    let mut struck = 0;
    let mut port = port(10_000_000_000, 0, Buffer::UNLIMITED, ramp);
    // Backlog held at 6,000 bytes, halfway: a quarter is struck.
    for id in (0..6).map(PacketId) {
        port.enqueue::<false>(0, id, &mut packet(1000, false));
    }
    let trials = 40_000;
    for _ in 0..trials {
        port.backlog_bytes = 6_000;
        struck += u32::from(port.ramp_strikes());
    }
    let (expected, deviation) = (f64::from(trials) * 0.25, (f64::from(trials) * 0.25 * 0.75).sqrt());
    assert!((f64::from(struck) - expected).abs() < 4.0 * deviation, "{struck} of {trials}");
}

/// A port that jitters beside one that does not: the same books, and arrivals in order, each late by no more than a frame's
/// time.
mod jitter {
    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Send { frame_bytes: u16 },
        Rate { mbps: u64 },
        Down,
        EndInterval,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            20 => (64u16..1519).prop_map(|frame_bytes| Step::Send { frame_bytes }),
            10 => Just(Step::Send { frame_bytes: 1518 }),
            1 => prop_oneof![Just(10u64), Just(1_000), Just(10_000), Just(400_000)].prop_map(|mbps| Step::Rate { mbps }),
            1 => Just(Step::Down),
            2 => Just(Step::EndInterval),
        ]
    }

    fn enqueue(port: &mut EgressPort, now_ps: u64, id: PacketId, frame_bytes: u16) -> Option<u64> {
        match port.enqueue::<true>(now_ps, id, &mut packet(frame_bytes, false)) {
            Verdict::Next(at_ps) => Some(at_ps),
            _ => None,
        }
    }

    /// Lets a port's packets arrive until a time; the times at which they did.
    fn arrivals(port: &mut EgressPort, next_ps: &mut u64, until_ps: u64) -> Vec<(PacketId, u64)> {
        let mut arrived = Vec::new();
        while *next_ps <= until_ps {
            let at_ps = *next_ps;
            let (id, then_ps) = port.arrive();
            assert!(then_ps >= at_ps, "in order");
            arrived.push((id, at_ps));
            *next_ps = then_ps;
        }
        arrived
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn delays_arrivals_only(
            steps in prop::collection::vec((0u64..3_000_000, step()), 1..300),
            delay_ps in 0u64..5_000_000,
            seed in any::<u64>(),
        ) {
            let mut plain = port(10_000_000_000, delay_ps, Buffer::UNLIMITED, Marking::Off);
            let mut late = port(10_000_000_000, delay_ps, Buffer::UNLIMITED, Marking::Off);
            late.set_jitter(Stream::new(seed, "jitter"));
            let (mut now_ps, mut interval_ps) = (0, 0);
            let mut next_ps = [NEVER_PS; 2];
            let mut arrived = [Vec::new(), Vec::new()];
            let mut slowest_mbps = 10_000;
            for (id, (wait_ps, step)) in (0..).map(PacketId).zip(steps) {
                now_ps += wait_ps;
                for ((port, next_ps), arrived) in [&mut plain, &mut late].into_iter().zip(&mut next_ps).zip(&mut arrived) {
                    arrived.extend(arrivals(port, next_ps, now_ps));
                }
                match step {
                    Step::Send { frame_bytes } => {
                        for (port, next_ps) in [&mut plain, &mut late].into_iter().zip(&mut next_ps) {
                            if let Some(at_ps) = enqueue(port, now_ps, id, frame_bytes) {
                                *next_ps = at_ps;
                            }
                        }
                    }
                    Step::Rate { mbps } => {
                        slowest_mbps = slowest_mbps.min(mbps);
                        let rate = Rate::from_bps(mbps * 1_000_000).unwrap();
                        for (port, next_ps) in [&mut plain, &mut late].into_iter().zip(&mut next_ps) {
                            if let Some(at_ps) = port.set_rate(now_ps, rate) {
                                *next_ps = at_ps;
                            }
                        }
                    }
                    Step::Down => {
                        plain.go_down(now_ps);
                        late.go_down(now_ps);
                        next_ps = [NEVER_PS; 2];
                        // What jittered had not arrived yet, and is lost with the rest.
                        late.lost_packets = plain.lost_packets;
                        plain.go_up();
                        late.go_up();
                        break;
                    }
                    Step::EndInterval => {
                        let records = [&mut plain, &mut late].map(|port| port.end_interval(0, interval_ps, now_ps));
                        prop_assert_eq!(records[0], records[1]);
                        interval_ps = now_ps;
                    }
                }
                prop_assert_eq!(plain.backlog_bytes(now_ps), late.backlog_bytes(now_ps));
            }
            let records = [&mut plain, &mut late].map(|port| port.end_interval(0, interval_ps, now_ps));
            prop_assert_eq!(records[0], records[1]);
            for ((port, next_ps), arrived) in [&mut plain, &mut late].into_iter().zip(&mut next_ps).zip(&mut arrived) {
                arrived.extend(arrivals(port, next_ps, NEVER_PS - 1));
            }
            let frame_ps = Rate::from_bps(slowest_mbps * 1_000_000).unwrap().serialization().frame_ps(1518 + 20);
            for (&(id, plain_ps), &(late_id, late_ps)) in arrived[0].iter().zip(&arrived[1]) {
                prop_assert_eq!(id, late_id);
                prop_assert!(plain_ps <= late_ps && late_ps <= plain_ps + frame_ps, "{plain_ps} and {late_ps}");
            }
        }
    }

    /// Full frames in a row: the lag of each is uniform below its time on the wire.
    #[test]
    fn lags_are_uniform() {
        let mut port = port(10_000_000_000, 0, Buffer::UNLIMITED, Marking::Off);
        port.set_jitter(Stream::new(1, "jitter"));
        let frame_ps = 1538 * 800;
        let mut tenths = [0u32; 10];
        for number in 0..10_000u64 {
            // Every second one finds the port idle.
            let now_ps = number / 2 * 4 * frame_ps;
            port.enqueue::<true>(now_ps, PacketId(0), &mut packet(1518, false));
            let accepted = port.ring.at(port.tail.wrapping_sub(1));
            let prompt_ps = now_ps + (1 + number % 2) * frame_ps;
            tenths[((accepted.arrive_ps - prompt_ps) * 10 / frame_ps) as usize] += 1;
            assert_eq!(port.end_ps(accepted), prompt_ps);
            if number % 2 == 1 {
                port.arrive();
                port.arrive();
            }
        }
        assert!(tenths.iter().all(|&count| (880..1120).contains(&count)), "{tenths:?}");
    }
}
