//! Doors ready for partitions: a fabric in parts, each served by a value of its own, has the same outcome as a whole one.
//!
//! Whatever switches share in one value (a stream of random numbers, a timer, a table) parts into several, and the outcome
//! changes; whoever looks at another part's ports is stopped where debug assertions are compiled in.

use super::setup::*;
use anabranch_balancers::{Descriptor, Elsewhere, Settings, Task, registry};
use anabranch_fabric::{Buffer, Change, Fabric, Marking, Rate, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Outcome, Partition, Progress};
use anabranch_traffic::Flow;
use anabranch_traffic::random::Stream;
use std::panic::{AssertUnwindSafe, catch_unwind};

const LEAVES: u32 = 4;
const SPINES: u32 = 3;
const HOSTS_PER_LEAF: u32 = 3;
const HOSTS: u32 = LEAVES * HOSTS_PER_LEAF;

/// Small buffers: drops, marks and timeouts.
fn fabric() -> Fabric {
    let link = Link {
        buffer: Buffer { bytes: 60_000, packets: 40 },
        marking: Marking::Step { bytes: u32::MAX, packets: 15 },
        ..TEN_GIG
    };
    leaf_spine(LEAVES, SPINES, HOSTS_PER_LEAF, link)
}

/// Two bursts with a silence between them, of connections that end and of some that are used again.
fn flows(seed: u64) -> Vec<Flow> {
    let mut stream = Stream::new(seed, "bursts");
    let mut flows = Vec::new();
    for burst_us in [0, 14_000] {
        for number in 0..48 {
            let src = stream.below(HOSTS.into()) as u32;
            let dst = (src + 1 + stream.below(u64::from(HOSTS) - 1) as u32) % HOSTS;
            let size_bytes = 1 + stream.below(250_000);
            let start_us = burst_us + stream.below(600);
            let transport = u8::from(number % 4 == 0);
            flows.push(Flow { transport, ..flow(src, dst, size_bytes, start_us * PS_PER_US) });
        }
    }
    flows
}

/// An uplink dies and comes back, another gets slower, a third loses frames.
fn settings_of(descriptor: &Descriptor, seed: u64) -> Settings {
    let tcp = Tcp {
        rto_min_ps: 300 * PS_PER_US,
        rto_initial_ps: 300 * PS_PER_US,
        ..Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 })
    };
    let persistent = Tcp { persistent: true, handshake: true, ..tcp.clone() };
    let up = |leaf, spine| uplink(LEAVES, SPINES, HOSTS_PER_LEAF, leaf, spine);
    let at = |at_us: u64, what| Change { at_ps: at_us * PS_PER_US, what };
    let slow = Rate::from_bps(4_000_000_000).unwrap();
    let mut changes = Vec::new();
    for port in [up(0, 0), up(0, 0) + 1] {
        changes.extend([at(250, What::PortDown(port)), at(14_300, What::PortUp(port))]);
    }
    for port in [up(2, 1), up(2, 1) + 1] {
        changes.push(at(350, What::PortRate(port, slow)));
    }
    changes.extend([at(100, What::PortLoss(up(3, 2), 0.02)), at(14_500, What::PortLoss(up(3, 2), 0.0))]);
    changes.sort_by_key(|change| change.at_ps);
    Settings {
        seed,
        balancing: descriptor.balancing(),
        transports: vec![Transport::Tcp(tcp), Transport::Tcp(persistent)],
        changes,
        routing_delay_ps: 150 * PS_PER_US,
        end_ps: 40_000 * PS_PER_US,
        ..settings(udp(10_000_000_000))
    }
}

/// A number that changes with any field of any record.
fn digest(outcome: &Outcome) -> u64 {
    let text = format!("{:?}{:?}{:?}{:?}", outcome.flows, outcome.ports, outcome.totals, outcome.counts);
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Every switch and every host by itself.
fn apart() -> Partition {
    Partition::new((0..LEAVES + SPINES).collect(), (0..HOSTS).collect())
}

/// Parts by lot.
fn by_lot(seed: u64, parts: u64) -> Partition {
    let mut stream = Stream::new(seed, "parts");
    let mut draw = |nodes| (0..nodes).map(|_| stream.below(parts) as u32).collect();
    Partition::new(draw(LEAVES + SPINES), draw(HOSTS))
}

/// Racks and spines by lot: a leaf and its hosts are in one part.
fn racks_by_lot(seed: u64, parts: u64) -> Partition {
    let mut stream = Stream::new(seed, "racks");
    let switches: Vec<u32> = (0..LEAVES + SPINES).map(|_| stream.below(parts) as u32).collect();
    let hosts = (0..HOSTS).map(|host| switches[(host / HOSTS_PER_LEAF) as usize]).collect();
    Partition::new(switches, hosts)
}

fn run_in_parts(settings: &Settings, partition: &Partition) -> Result<Outcome, String> {
    let (fabric, flows, progress) = (fabric(), flows(7), Progress::default());
    let task = Task::new(&fabric, &flows, settings, &progress);
    let outcome = task.and_then(|task| task.partitioned(partition)?.simulate());
    outcome.map_err(|error| error.to_string())
}

/// Load balancers of the registry whose outcome in parts is not that as a whole, or that end in a panic.
fn differing(partitions: &[Partition], chosen: impl Fn(&Descriptor) -> bool) -> Vec<String> {
    let mut differing = Vec::new();
    for descriptor in registry::all().filter(|descriptor| chosen(descriptor)) {
        let settings = settings_of(descriptor, 3);
        let whole = digest(&run(&fabric(), &flows(7), &settings));
        for partition in partitions {
            let run = || digest(&run_in_parts(&settings, partition).unwrap());
            let in_parts = catch_unwind(AssertUnwindSafe(run));
            if in_parts.as_ref().ok() != Some(&whole) {
                differing.push(format!("{}: {in_parts:x?} instead of {whole:x}", descriptor.name));
            }
        }
    }
    differing
}

#[test]
fn state_belongs_to_a_switch_or_a_host() {
    let differing = differing(&[apart(), by_lot(1, 3)], |descriptor| descriptor.reads_elsewhere.is_none());
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn state_that_a_rack_shares_stays_in_the_rack() {
    let shares = |descriptor: &Descriptor| matches!(descriptor.reads_elsewhere, Some(Elsewhere::Rack(_)));
    let differing = differing(&[racks_by_lot(1, 2), racks_by_lot(2, 4)], shares);
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn whoever_reads_elsewhere_is_refused() {
    let mut refused = Vec::new();
    for descriptor in registry::all() {
        let (racks, fabric) = match descriptor.reads_elsewhere {
            None => continue,
            Some(Elsewhere::Rack(what)) => (None, what),
            Some(Elsewhere::Fabric(what)) => (Some(what), what),
        };
        let settings = settings_of(descriptor, 3);
        let error = run_in_parts(&settings, &apart()).unwrap_err();
        assert!(error.contains(fabric) && error.contains(descriptor.name), "{error}");
        assert_eq!(run_in_parts(&settings, &racks_by_lot(1, 2)).is_err(), racks.is_some());
        refused.push(descriptor.name);
    }
    assert!(!refused.is_empty());
}
