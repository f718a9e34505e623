//! Completion times on an empty fabric, to the picosecond, and rates of full links.

use super::setup::*;
use anabranch_sim::Framing;
use anabranch_sim::transport::{Control, Tcp, Transport};

const MSS: u64 = 1448;
const PS_PER_BYTE: u64 = 800;
/// Host, leaf, spine, leaf, host: four links.
const HOPS: u64 = 4;

/// Time on a 10 Gbit/s link of a frame with this payload, preamble and gap included.
fn frame_ps(payload: u64) -> u64 {
    (u64::from(Framing::ETHERNET.frame_bytes(payload as u16)) + 20) * PS_PER_BYTE
}

/// One frame over the whole empty path, stored and forwarded at each node.
fn path_ps(payload: u64) -> u64 {
    HOPS * (frame_ps(payload) + PS_PER_US)
}

fn fct_ps(size_bytes: u64, tcp: Tcp) -> u64 {
    let fabric = leaf_spine(2, 2, 1, TEN_GIG);
    let outcome = run(&fabric, &[flow(0, 1, size_bytes, 7)], &settings(Transport::Tcp(tcp)));
    assert_eq!(outcome.flows[0].retransmitted_packets, 0);
    assert_eq!(outcome.flows[0].sent_packets, size_bytes.div_ceil(MSS));
    outcome.flows[0].fct_ps
}

fn dctcp() -> Control {
    Control::Dctcp { gain: 1.0 / 16.0 }
}

#[test]
fn one_byte_takes_one_path() {
    for control in [Control::NewReno, Control::Cubic { hystart: false }, dctcp()] {
        assert_eq!(fct_ps(1, Tcp::plain(control)), path_ps(1));
    }
}

#[test]
fn a_handshake_costs_a_round_trip_of_small_frames() {
    let with = Tcp { handshake: true, ..Tcp::plain(Control::NewReno) };
    assert_eq!(fct_ps(1, with), 2 * path_ps(0) + path_ps(1));
}

#[test]
fn one_segment_and_one_window_are_bound_by_the_link() {
    assert_eq!(fct_ps(MSS, Tcp::plain(Control::NewReno)), path_ps(MSS));
    assert_eq!(fct_ps(10 * MSS, Tcp::plain(Control::NewReno)), path_ps(MSS) + 9 * frame_ps(MSS));
}

#[test]
fn ten_megabytes_wait_once_for_the_first_acknowledgement() {
    // The pipe holds 11 segments, the initial window 10: after it the link idles until the first acknowledgement
    // comes back. From then on slow start doubles the window each round, and the link never idles again.
    let size = 10_000_000;
    let (segments, last) = (u64::div_ceil(size, MSS), size - (u64::div_ceil(size, MSS) - 1) * MSS);
    let round_ps = path_ps(MSS) + path_ps(0);
    assert!((10 * frame_ps(MSS)..11 * frame_ps(MSS)).contains(&round_ps));
    let last_leaves_ps = round_ps + (segments - 11) * frame_ps(MSS);
    // The short last frame catches up with no one: it waits behind a full frame at each of the next hops.
    let tail_ps = frame_ps(last) + PS_PER_US + (HOPS - 1) * (frame_ps(last) + PS_PER_US);
    let behind_ps = (HOPS - 1) * (frame_ps(MSS) - frame_ps(last));
    for control in [Control::NewReno, dctcp()] {
        assert_eq!(fct_ps(size, Tcp::plain(control)), last_leaves_ps + tail_ps + behind_ps);
    }
}

#[test]
fn a_full_link_carries_its_arithmetic_goodput() {
    let size = 100_000_000u64;
    let goodput_bps = size as f64 * 8e12 / fct_ps(size, Tcp::plain(dctcp())) as f64;
    let arithmetic_bps = 1e10 * MSS as f64 / 1538.0;
    assert!((goodput_bps / arithmetic_bps - 1.0).abs() < 0.001, "{goodput_bps} against {arithmetic_bps}");
}

#[test]
fn two_flows_share_a_link_evenly() {
    // Both into host 2; buffers of 300 KB, marks from 65 packets.
    let link = Link {
        buffer: anabranch_fabric::Buffer { bytes: 300_000, packets: u32::MAX },
        marking: anabranch_fabric::Marking::Step { bytes: u32::MAX, packets: 65 },
        ..TEN_GIG
    };
    let fabric = leaf_spine(3, 2, 1, link);
    let size = 50_000_000;
    let flows = [flow(0, 2, size, 0), flow(1, 2, size, 0)];
    let outcome = run(&fabric, &flows, &settings(Transport::Tcp(Tcp::plain(dctcp()))));
    let alone_ps = fct_ps(size, Tcp::plain(dctcp()));
    let last = outcome.flows.iter().map(|f| f.fct_ps).max().unwrap() as f64;
    let first = outcome.flows.iter().map(|f| f.fct_ps).min().unwrap() as f64;
    assert!((last / (2.0 * alone_ps as f64) - 1.0).abs() < 0.01, "the link is full throughout: {last}");
    // DCTCP converges within some hundred rounds (SIGCOMM 2010, section 3.5); this transfer has a thousand.
    assert!(first / last > 0.85, "{first} and {last}");
}
