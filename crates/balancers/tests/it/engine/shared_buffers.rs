//! Buffers that the ports of a switch share, in whole fabrics: thresholds, what is set aside, what trimming gives back.

use super::setup::*;
use anabranch_balancers::Settings;
use anabranch_fabric::{Fabric, SharedBuffer, SwitchSettings};
use anabranch_sim::{Nic, Outcome};
use anabranch_traffic::Flow;

const DATA: usize = 2;
/// Frame of a full packet.
const FRAME_BYTES: u64 = 1518;

fn fabric_of(switches: SwitchSettings) -> Fabric {
    with_links(switches, TEN_GIG)
}

fn with_links(switches: SwitchSettings, link: Link) -> Fabric {
    let mut fabric = leaf_spine(1, 1, 9, link);
    fabric.set_switches(Some(switches));
    fabric
}

/// Hosts that send to one of their leaf, as fast as their links.
fn send(fabric: &Fabric, flows: &[Flow]) -> Outcome {
    let settings: Settings = Settings { nic: Nic::FIFO, ..settings(udp(10_000_000_000)) };
    run(fabric, flows, &settings)
}

/// The most that waited at the leaf's port to a host.
fn backlog(outcome: &Outcome, host: u32) -> u64 {
    outcome.ports[2 * host as usize + 1].backlog_max_bytes
}

/// A lossy queue may hold alpha times what is free. `n` queues that are all full hold `alpha B / (1 + n alpha)` each (Choudhury
/// and Hahne 1998).
#[test]
fn lossy_queues_hold_alpha_times_what_is_free() {
    let bytes = 400_000;
    for alpha in [0.25, 1.0, 4.0] {
        let shared = SharedBuffer { bytes, alpha, ..SharedBuffer::default() };
        let fabric = fabric_of(SwitchSettings { shared: Some(shared), ..SwitchSettings::default() });
        for queues in 1..=3u32 {
            let flows: Vec<Flow> = (3..9).map(|src| flow(src, src % queues, 3_000_000, 0)).collect();
            let outcome = send(&fabric, &flows);
            assert!(outcome.totals.dropped_packets > 1000);
            let share = (alpha * bytes as f64 / (1.0 + f64::from(queues) * alpha)) as u64;
            for host in 0..queues {
                // The frame in service is counted out of the buffer, and queues fill by whole frames, one after another.
                let held = backlog(&outcome, host);
                assert!(
                    held.abs_diff(share) <= share / 50 + 3 * FRAME_BYTES,
                    "{alpha} {queues}: {held} {share}"
                );
            }
        }
    }
}

/// What is promised to each ingress, a guarantee and headroom, is there when all but one ask for it, and no more than that:
/// links so long that pauses come too late fill the buffer to the last byte that may be used, and never beyond.
#[test]
fn what_is_set_aside_fits() {
    let (headroom_bytes, guarantee_bytes, bytes) = (10_000, 60_000, 1_000_000);
    let shared = SharedBuffer {
        bytes,
        pause_alpha: 1e9,
        guarantee_bytes,
        headroom_bytes: Some(headroom_bytes),
        ..SharedBuffer::default()
    };
    let mut switches = SwitchSettings { shared: Some(shared), ..SwitchSettings::default() };
    switches.classes[DATA].lossless = true;
    let flows: Vec<Flow> = (1..9).map(|src| flow(src, 0, 1_000_000, 0)).collect();
    let long = Link { delay_ps: 100 * PS_PER_US, ..TEN_GIG };
    let outcome = send(&with_links(switches, long), &flows);
    assert!(outcome.totals.dropped_packets > 0);
    // Ten ports; the uplink and the receiver's own use nothing of what they have.
    let most = bytes - 2 * u64::from(headroom_bytes + guarantee_bytes);
    let held = backlog(&outcome, 0);
    assert!((most - 9 * FRAME_BYTES..=most + FRAME_BYTES).contains(&held), "{held} of {most}");
}

/// A frame that was cut gives its room back: after thousands of cuts a lone flow finds the buffer as empty as it is.
#[test]
fn trimming_gives_room_back() {
    let shared = SharedBuffer { bytes: 200_000, ..SharedBuffer::default() };
    let mut switches = SwitchSettings { shared: Some(shared), ..SwitchSettings::default() };
    switches.classes[DATA].trim = true;
    let storm = (1..9).map(|src| flow(src, 0, 1_000_000, 0));
    let later = flow(1, 2, 1_000_000, 20_000 * PS_PER_US);
    let outcome = send(&fabric_of(switches), &storm.chain([later]).collect::<Vec<_>>());
    let trimmed: u64 = outcome.ports.iter().map(|record| record.trimmed_packets).sum();
    assert!(trimmed > 2000, "{trimmed}");
    assert_eq!(outcome.flows[8].dropped_packets, 0, "{:?}", outcome.flows[8]);
}

/// A pause ends when the switch says so, not when it would lapse: with pauses of 2 ms the link to the receiver is never
/// idle.
#[test]
fn a_resume_ends_a_long_pause() {
    let shared = SharedBuffer { bytes: 500_000, quantum_ps: 2_000 * PS_PER_US, ..SharedBuffer::default() };
    let mut switches = SwitchSettings { shared: Some(shared), ..SwitchSettings::default() };
    switches.classes[DATA].lossless = true;
    let flows: Vec<Flow> = (1..9).map(|src| flow(src, 0, 1_000_000, 0)).collect();
    let outcome = send(&fabric_of(switches), &flows);
    assert_eq!(outcome.totals.dropped_packets, 0);
    let paused_ps: u64 = outcome.ports.iter().map(|record| record.paused_ps).sum();
    assert!(paused_ps > 8 * 1_000 * PS_PER_US, "{paused_ps}");
    let last_ps = outcome.flows.iter().map(|flow| flow.start_ps + flow.fct_ps).max().unwrap();
    let busy_ps = 8 * 691 * 1538 * 800;
    assert!(last_ps < busy_ps + 20 * PS_PER_US, "{last_ps} ps, {busy_ps} ps busy");
}
