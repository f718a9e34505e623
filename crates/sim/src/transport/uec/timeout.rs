//! Timeout of a packet where none is given.

use anabranch_fabric::{Buffer, Change, Fabric, Port, Rate, What};

/// What is there without queues: round trips, hosts.
const BASE_PS: u64 = 15_000_000;
/// Full ports that a packet may meet.
const FULL_PORTS: u64 = 6;
/// Room of a port whose buffer is shared or has no bound: that of `uet-htsim`'s ports of 100 Gbit/s.
const ROOM_BYTES: u64 = 178_450;
/// Least timeout: that of `uet-htsim`, whose rule yields it with the ports above.
const LEAST_PS: u64 = 100_656_000;

/// Rule of `uet-htsim` (commit 40ccb05, `main_uec.cpp`) for any fabric: 15 us and six full ports, of the port that takes
/// longest to send what it has room for, by the lowest rate that it has in a run with these `changes`. A timeout that knows
/// nothing of a slow link's queue calls every packet in it lost, and what is sent again makes the queue longer.
pub(crate) fn timeout_ps(fabric: &Fabric, changes: &[Change], frame_bytes: u16) -> u64 {
    let longest =
        |port: &Port, rate: Rate| rate.serialization().bytes_ps(room_bytes(port.buffer, frame_bytes));
    let built = fabric.ports().iter().map(|port| longest(port, port.rate));
    let changed = changes.iter().filter_map(|change| match change.what {
        What::PortRate(port, rate) => Some(longest(&fabric.ports()[port as usize], rate)),
        _ => None,
    });
    let full_ps = built.chain(changed).max().unwrap_or(0);
    LEAST_PS.max(full_ps.saturating_mul(FULL_PORTS).saturating_add(BASE_PS))
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
    use anabranch_fabric::Marking;
    use anabranch_fabric::topology::{LeafSpine, LinkSettings};

    /// The published timeout where its ports are, and longer by what a port has become slower.
    #[test]
    fn follows_the_slowest_port() {
        let rate = |bps| Rate::from_bps(bps).expect("a rate");
        let buffer = |bytes| Buffer { bytes, packets: u32::MAX };
        let timeout = |bytes, changes: &[Change]| {
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
                parallel_links: 1,
                host_link: link,
                uplink: link,
            };
            timeout_ps(&fabric.build().expect("a fabric"), changes, 4150)
        };
        assert_eq!(timeout(178_450, &[]), 100_656_000);
        assert_eq!(timeout(u32::MAX, &[]), 100_656_000);
        assert_eq!(timeout(50_000, &[]), LEAST_PS);
        assert_eq!(timeout(356_900, &[]), 15_000_000 + 2 * 85_656_000);
        let slowed = |bps| [Change { at_ps: 5, what: What::PortRate(3, rate(bps)) }];
        assert_eq!(timeout(178_450, &slowed(10_000_000_000)), 15_000_000 + 10 * 85_656_000);
        assert_eq!(timeout(178_450, &slowed(400_000_000_000)), 100_656_000);
    }
}
