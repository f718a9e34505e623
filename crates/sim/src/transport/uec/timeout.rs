//! Timeout of a packet where none is given.

use anabranch_fabric::{Buffer, Change, Fabric, Port, Rate, SwitchSettings, What};

/// What is there without queues, round trips and hosts, where a round trip of the empty fabric takes no longer.
const BASE_PS: u64 = 15_000_000;
/// Full ports that a packet may meet.
const FULL_PORTS: u64 = 6;
/// Room of a port whose buffer is shared or has no bound: that of `uet-htsim`'s ports of 100 Gbit/s.
const ROOM_BYTES: u64 = 178_450;
/// Least timeout: that of `uet-htsim`, whose rule yields it with the ports above.
const LEAST_PS: u64 = 100_656_000;

/// Rule of `uet-htsim` (commit 40ccb05, `main_uec.cpp`) for any fabric: 15 us and six full ports, of the port that takes
/// longest to send what it has room for, by the lowest rate that it has in a run with these `changes`. Where switches share
/// a buffer and pause instead of losing, one port may have to send all of it: that time counts if it is longer. A timeout
/// that knows nothing of a slow link's queue calls every packet in it lost, and what is sent again makes the queue longer.
/// One that is shorter than `rtt_ps`, the longest round trip of the empty fabric, does so with every packet.
pub(crate) fn timeout_ps(fabric: &Fabric, changes: &[Change], frame_bytes: u16, rtt_ps: u64) -> u64 {
    let paused_bytes = paused_bytes(fabric);
    let full_ps = |port: &Port, rate: Rate| {
        let bytes = FULL_PORTS * room_bytes(port.buffer, frame_bytes);
        rate.serialization().bytes_ps(bytes.max(paused_bytes))
    };
    let built = fabric.ports().iter().map(|port| full_ps(port, port.rate));
    let changed = changes.iter().filter_map(|change| match change.what {
        What::PortRate(port, rate) => Some(full_ps(&fabric.ports()[port as usize], rate)),
        _ => None,
    });
    let longest_ps = built.chain(changed).max().unwrap_or(0);
    LEAST_PS.max(longest_ps.saturating_add(BASE_PS.max(rtt_ps)))
}

/// Bytes that may wait for one port of a switch that pauses its neighbours; none where no class is lossless.
fn paused_bytes(fabric: &Fabric) -> u64 {
    let pauses = |switches: &&SwitchSettings| switches.classes.iter().any(|class| class.lossless);
    fabric.switches().filter(pauses).and_then(|switches| switches.shared).map_or(0, |shared| shared.bytes)
}

/// Bytes that a port has room for.
fn room_bytes(buffer: Buffer, frame_bytes: u16) -> u64 {
    match buffer {
        Buffer { bytes: u32::MAX, packets: u32::MAX } => ROOM_BYTES,
        Buffer { bytes: u32::MAX, packets } => u64::from(packets) * u64::from(frame_bytes),
        Buffer { bytes, .. } => bytes.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_fabric::topology::{LeafSpine, LinkSettings};
    use anabranch_fabric::{Marking, SharedBuffer};

    /// The published timeout where its ports are, and longer by what a port has become slower.
    #[test]
    fn follows_the_slowest_port() {
        let rate = |bps| Rate::from_bps(bps).expect("a rate");
        let buffer = |bytes| Buffer { bytes, packets: u32::MAX };
        let built = |bytes| {
            let link = LinkSettings {
                rate: rate(100_000_000_000),
                delay_ps: 1_000_000,
                buffer: buffer(bytes),
                marking: Marking::Off,
            };
            let fabric = LeafSpine {
                leaves: 2,
                spines: 1,
                hosts_per_leaf: 1,
                host_link: link,
                uplink: link,
                ..LeafSpine::default()
            };
            fabric.build().expect("a fabric")
        };
        let timeout = |bytes, changes: &[Change]| timeout_ps(&built(bytes), changes, 4150, 9_000_000);
        assert_eq!(timeout(178_450, &[]), 100_656_000);
        assert_eq!(timeout(u32::MAX, &[]), 100_656_000);
        assert_eq!(timeout(50_000, &[]), LEAST_PS);
        assert_eq!(timeout_ps(&built(178_450), &[], 4150, 15_000_001), 100_656_001, "a long round trip");
        assert_eq!(timeout(356_900, &[]), 15_000_000 + 2 * 85_656_000);
        let mut pausing = built(u32::MAX);
        let mut switches =
            SwitchSettings { shared: Some(SharedBuffer::default()), ..SwitchSettings::default() };
        pausing.set_switches(Some(switches));
        assert_eq!(timeout_ps(&pausing, &[], 4150, 9_000_000), 100_656_000);
        switches.classes[2].lossless = true;
        pausing.set_switches(Some(switches));
        assert_eq!(timeout_ps(&pausing, &[], 4150, 9_000_000), 15_000_000 + (9 << 20) * 80);
        let slowed = |bps| [Change { at_ps: 5, what: What::PortRate(3, rate(bps)) }];
        assert_eq!(timeout(178_450, &slowed(10_000_000_000)), 15_000_000 + 10 * 85_656_000);
        assert_eq!(timeout(178_450, &slowed(400_000_000_000)), 100_656_000);
    }
}
