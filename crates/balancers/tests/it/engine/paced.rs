//! Applications that write at a rate of their own, and segments of a size of their own: closed forms and packet traces.

use super::setup::*;
use anabranch_fabric::Rate;
use anabranch_sim::transport::{Control, Pace, Tcp, Transport, Udp};
use anabranch_sim::{CapturedPacket, Framing, Kind, Nic, Outcome};

const MSS: u64 = 1448;
const SIZE: u64 = 1_000_000;
/// Fixed part of a round trip on the empty fabric: eight links of 1 us, four full frames and four acknowledgements.
const ROUND_PS: u64 = 8 * PS_PER_US + 4 * (1538 + 90) * 800;

fn paced(rate_bps: u64, burst_bytes: u64, control: Control) -> Transport {
    let pace = Pace { rate: Rate::from_bps(rate_bps).unwrap(), burst_bytes };
    Transport::Tcp(Tcp { pace: Some(pace), ..Tcp::plain(control) })
}

/// One flow, its packets captured as they leave their host.
fn alone(transport: Transport) -> Outcome {
    let mut settings = settings(transport);
    settings.observe.capture_ports = vec![0];
    settings.observe.capture_packets_max = 10_000;
    run(&leaf_spine(2, 2, 1, TEN_GIG), &[flow(0, 1, SIZE, 7)], &settings)
}

fn data(outcome: &Outcome) -> impl Iterator<Item = &CapturedPacket> {
    outcome.captures.iter().filter(|capture| matches!(capture.packet.kind, Kind::Data | Kind::Datagram))
}

/// Time that so many bytes take at a rate.
fn time_ps(bytes: u64, rate_bps: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000_000).div_ceil(rate_bps.into()) as u64
}

#[test]
fn a_flow_alone_takes_its_size_over_its_rate() {
    for rate_bps in [100_000_000, 1_000_000_000, 3_000_000_000] {
        for burst_bytes in [MSS, 10_000, 131_072] {
            for control in [Control::NewReno, Control::Cubic { hystart: true }] {
                let outcome = alone(paced(rate_bps, burst_bytes, control));
                let record = &outcome.flows[0];
                assert_eq!((record.retransmitted_packets, record.timeouts), (0, 0));
                // The last burst is written when all before it have had their time. Slow start, whose window is ten
                // segments and which doubles it each round, may keep a burst for some rounds more.
                let bursts = SIZE.div_ceil(burst_bytes);
                let written_ps = time_ps((bursts - 1) * burst_bytes, rate_bps);
                let last_ps = time_ps(burst_bytes, 8_000_000_000) + 5 * ROUND_PS;
                let took_ps = record.fct_ps;
                assert!(
                    (written_ps..=written_ps + last_ps).contains(&took_ps),
                    "{rate_bps} {burst_bytes}: {took_ps}, {written_ps} and at most {last_ps}"
                );
            }
        }
    }
}

#[test]
fn every_segment_leaves_when_it_is_written() {
    let rate_bps = 1_000_000_000;
    let outcome = alone(paced(rate_bps, MSS, Control::NewReno));
    // Captures have the time at which a frame begins to leave.
    let first_ps = outcome.captures[0].time_ps;
    let found: Vec<_> = data(&outcome).map(|capture| capture.time_ps - first_ps).collect();
    let expected: Vec<_> = (0..SIZE.div_ceil(MSS)).map(|index| time_ps(index * MSS, rate_bps)).collect();
    assert!(found == expected, "{:?} instead of {:?}", &found[..5], &expected[..5]);
}

#[test]
fn bursts_leave_back_to_back_and_never_ahead_of_the_rate() {
    let (rate_bps, burst_bytes) = (1_000_000_000, 64_000);
    let outcome = alone(paced(rate_bps, burst_bytes, Control::NewReno));
    let start_ps = 7;
    for capture in data(&outcome) {
        let end = capture.packet.seq + u64::from(capture.packet.payload_bytes);
        let bursts = (capture.time_ps - start_ps) / time_ps(burst_bytes, rate_bps) + 1;
        assert!(end <= bursts * burst_bytes, "byte {end} in burst {bursts}");
    }
    let gaps: Vec<_> = data(&outcome)
        .collect::<Vec<_>>()
        .windows(2)
        .map(|pair| pair[1].time_ps - pair[0].time_ps)
        .filter(|&gap_ps| gap_ps > 100 * PS_PER_US)
        .collect();
    // Sixteen bursts; what slow start needs for the first few is below 100 us.
    assert_eq!(gaps.len() as u64, SIZE.div_ceil(burst_bytes) - 1);
}

#[test]
fn a_connection_that_was_held_back_catches_up() {
    // Two hosts into one link of 10 Gbit/s: the greedy one leaves after 10 MB, the other asks for 9 Gbit/s of payload.
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let rate_bps = 9_000_000_000;
    let greedy = Transport::Tcp(Tcp::plain(Control::NewReno));
    let mut settings = settings(paced(rate_bps, MSS, Control::NewReno));
    settings.transports.push(greedy);
    settings.nic = Nic::FAIR;
    let size = 40_000_000;
    let other = anabranch_traffic::Flow { transport: 1, ..flow(1, 2, 10_000_000, 0) };
    let outcome = run(&fabric, &[flow(0, 2, size, 0), other], &settings);
    let alone_ps = time_ps(size, rate_bps);
    let line_bps = 10_000_000_000 * MSS / 1538;
    let share_ps = time_ps(size + 10_000_000, line_bps);
    let took_ps = outcome.flows[0].fct_ps;
    assert!(outcome.flows[1].fct_ps < took_ps);
    // It makes up for what it lost: later than alone, as soon as the link has carried both.
    assert!(alone_ps < took_ps && took_ps < share_ps + share_ps / 50, "{alone_ps} {took_ps} {share_ps}");
}

#[test]
fn a_rate_above_the_links_changes_nothing() {
    let greedy = alone(Transport::Tcp(Tcp::plain(Control::NewReno)));
    let paced = alone(paced(1_000_000_000_000, SIZE, Control::NewReno));
    assert_eq!(
        format!("{:?}", (greedy.flows, greedy.captures)),
        format!("{:?}", (paced.flows, paced.captures))
    );
}

#[test]
fn segments_of_a_size_of_their_own() {
    let small = 678;
    let tcp = Tcp { payload_bytes_max: Some(small), ..Tcp::plain(Control::NewReno) };
    let udp = Udp { rate: Rate::from_bps(5_000_000_000).unwrap(), payload_bytes_max: Some(small) };
    for transport in [Transport::Tcp(tcp), Transport::Udp(udp)] {
        let outcome = alone(transport);
        let record = &outcome.flows[0];
        assert_eq!(record.sent_packets, SIZE.div_ceil(small.into()));
        assert_eq!(record.delivered_bytes, SIZE);
        let mut sizes: Vec<_> = data(&outcome).map(|capture| capture.packet.payload_bytes).collect();
        assert_eq!(sizes.pop(), Some((SIZE % u64::from(small)) as u16));
        assert!(sizes.iter().all(|&size| size == small));
        let frame_bytes = Framing::ETHERNET.frame_bytes(small);
        assert!(data(&outcome).take(100).all(|capture| capture.packet.frame_bytes == frame_bytes));
    }
}

#[test]
fn the_same_bits_twice() {
    let fabric = leaf_spine(2, 2, 4, TEN_GIG);
    let mut settings = settings(paced(1_000_000_000, 131_072, Control::Cubic { hystart: true }));
    settings.nic = Nic::FAIR;
    let flows: Vec<_> = (0..16).map(|index| flow(index % 4, 4 + index % 3, SIZE, 0)).collect();
    let first = run(&fabric, &flows, &settings);
    assert!(first.flows.iter().all(|record| record.fct_ps != u64::MAX));
    let again = run(&fabric, &flows, &settings);
    assert_eq!(format!("{:?}", (first.flows, first.ports)), format!("{:?}", (again.flows, again.ports)));
}
