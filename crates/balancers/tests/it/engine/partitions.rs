//! Doors ready for partitions: a fabric in parts, each served by a value of its own, has the same outcome as a whole one.
//!
//! Whatever switches share in one value (a stream of random numbers, a timer, a table) parts into several, and the outcome
//! changes; whoever looks at another part's ports is stopped where debug assertions are compiled in.

use super::setup::*;
use anabranch_balancers::{Descriptor, Elsewhere, Settings, Task, registry};
use anabranch_fabric::topology::{Dragonfly, FatTree, LeafSpine, LinkSettings};
use anabranch_fabric::{Buffer, Change, Fabric, Marking, Rate, What};
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{Outcome, Partition, Progress};
use anabranch_traffic::Flow;
use anabranch_traffic::random::Stream;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Small buffers: drops, marks and timeouts.
pub(super) fn link() -> LinkSettings {
    LinkSettings {
        buffer: Buffer { bytes: 60_000, packets: 40 },
        marking: Marking::Step { bytes: u32::MAX, packets: 15 },
        ..LinkSettings::default()
    }
}

pub(super) fn leaf_spine() -> Fabric {
    let (host_link, uplink) = (link(), link());
    LeafSpine { leaves: 4, spines: 3, hosts_per_leaf: 3, host_link, uplink, ..LeafSpine::default() }
        .build()
        .unwrap()
}

pub(super) fn fat_tree() -> Fabric {
    FatTree { k: 4, host_link: link(), uplink: link(), ..FatTree::default() }.build().unwrap()
}

pub(super) fn dragonfly() -> Fabric {
    let (host_link, local_link, global_link) = (link(), link(), link());
    Dragonfly { groups: 4, host_link, local_link, global_link, ..Dragonfly::default() }.build().unwrap()
}

fn switches(fabric: &Fabric) -> u32 {
    fabric.nodes().len() as u32 - fabric.hosts()
}

/// Two bursts with a silence between them, of connections that end and of some that are used again.
fn bursts(fabric: &Fabric) -> Vec<Flow> {
    let (mut stream, hosts) = (Stream::new(7, "bursts"), fabric.hosts());
    let mut flows = Vec::new();
    for burst_us in [0, 14_000] {
        for number in 0..48 {
            let src = stream.below(hosts.into()) as u32;
            let dst = (src + 1 + stream.below(u64::from(hosts) - 1) as u32) % hosts;
            let size_bytes = 1 + stream.below(250_000);
            let start_us = burst_us + stream.below(600);
            let transport = u8::from(number % 4 == 0);
            flows.push(Flow { transport, ..flow(src, dst, size_bytes, start_us * PS_PER_US) });
        }
    }
    flows
}

/// A link between switches dies and comes back, another gets slower, a third loses frames.
fn changes(fabric: &Fabric) -> Vec<Change> {
    let at = |at_us: u64, what| Change { at_ps: at_us * PS_PER_US, what };
    let slow = Rate::from_bps(4_000_000_000).unwrap();
    let hosts = fabric.hosts();
    let between: Vec<u32> = (0..)
        .zip(fabric.ports())
        .filter(|(_, port)| port.from >= hosts && port.from < port.to)
        .map(|(port, _)| port)
        .collect();
    let (dying, slowing, losing) = (between[0], between[between.len() / 2], between[between.len() - 1]);
    let both = |port: u32| [port, fabric.ports()[port as usize].reverse];
    let mut changes = vec![at(100, What::PortLoss(losing, 0.02)), at(14_500, What::PortLoss(losing, 0.0))];
    for port in both(dying) {
        changes.extend([at(250, What::PortDown(port)), at(14_300, What::PortUp(port))]);
    }
    changes.extend(both(slowing).map(|port| at(350, What::PortRate(port, slow))));
    changes.sort_by_key(|change| change.at_ps);
    changes
}

fn settings_of(descriptor: &Descriptor, fabric: &Fabric) -> Settings {
    let tcp = Tcp {
        rto_min_ps: 300 * PS_PER_US,
        rto_initial_ps: 300 * PS_PER_US,
        ..Tcp::plain(Control::Dctcp { gain: 1.0 / 16.0 })
    };
    let persistent = Tcp { persistent: true, handshake: true, ..tcp };
    Settings {
        seed: 3,
        balancing: descriptor.balancing(),
        transports: vec![Transport::Tcp(tcp), Transport::Tcp(persistent)],
        changes: changes(fabric),
        routing_delay_ps: 150 * PS_PER_US,
        switch_hashes: Vec::new(),
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
fn apart(fabric: &Fabric) -> Partition {
    Partition::new((0..switches(fabric)).collect(), (0..fabric.hosts()).collect())
}

/// Parts by lot.
fn by_lot(fabric: &Fabric, seed: u64, parts: u64) -> Partition {
    let mut stream = Stream::new(seed, "parts");
    let mut draw = |nodes| (0..nodes).map(|_| stream.below(parts) as u32).collect();
    Partition::new(draw(switches(fabric)), draw(fabric.hosts()))
}

/// Switches by lot; the hosts of a leaf are in its part.
pub(super) fn racks_by_lot(fabric: &Fabric, seed: u64, parts: u64) -> Partition {
    let (mut stream, hosts) = (Stream::new(seed, "racks"), fabric.hosts());
    let part_of: Vec<u32> = (0..switches(fabric)).map(|_| stream.below(parts) as u32).collect();
    let of_hosts = (0..hosts).map(|host| part_of[(fabric.leaf_of(host) - hosts) as usize]).collect();
    Partition::new(part_of, of_hosts)
}

fn simulated(fabric: &Fabric, settings: &Settings, partition: Option<&Partition>) -> Result<u64, String> {
    let (flows, progress) = (bursts(fabric), Progress::default());
    let task = Task::new(fabric, &flows, settings, &progress);
    let task = task.and_then(|task| partition.map_or(Ok(task), |partition| task.partitioned(partition)));
    task.and_then(Task::simulate).map(|outcome| digest(&outcome)).map_err(|error| error.to_string())
}

/// Runs chosen load balancers of the registry as a whole and in parts, those that take the fabric. Returns how many did, and
/// those whose outcomes differ or that panic.
fn compare(
    fabric: &Fabric,
    partitions: &[Partition],
    chosen: impl Fn(&Descriptor) -> bool,
) -> (usize, BTreeMap<&'static str, String>) {
    let (mut count, mut differing) = (0, BTreeMap::new());
    for descriptor in registry::all().filter(|descriptor| chosen(descriptor)) {
        let settings = settings_of(descriptor, fabric);
        let Ok(whole) = simulated(fabric, &settings, None) else { continue };
        count += 1;
        for partition in partitions {
            let run = || simulated(fabric, &settings, Some(partition)).unwrap();
            let in_parts = catch_unwind(AssertUnwindSafe(run));
            if in_parts.as_ref().ok() != Some(&whole) {
                differing.insert(descriptor.name, format!("{in_parts:x?} instead of {whole:x}"));
            }
        }
    }
    (count, differing)
}

fn keeps_to_itself(descriptor: &Descriptor) -> bool {
    descriptor.reads_elsewhere.is_none()
}

#[test]
fn state_belongs_to_a_switch_or_a_host() {
    let fabric = leaf_spine();
    let (count, differing) = compare(&fabric, &[apart(&fabric), by_lot(&fabric, 1, 3)], keeps_to_itself);
    // All but those that need links between leaves.
    assert_eq!(count, registry::all().filter(|descriptor| keeps_to_itself(descriptor)).count() - 2);
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn state_belongs_to_a_switch_of_any_tier() {
    let fabric = fat_tree();
    let (count, differing) = compare(&fabric, &[apart(&fabric)], keeps_to_itself);
    // All but those of two tiers, and those that need links between leaves.
    assert!(count + 4 >= registry::all().filter(|descriptor| keeps_to_itself(descriptor)).count(), "{count}");
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn state_belongs_to_a_router_of_a_dragonfly() {
    let fabric = dragonfly();
    let detours = |descriptor: &Descriptor| {
        ["valiant", "ugal-l", "spritz-scout", "spritz-spray"].contains(&descriptor.name)
    };
    let (count, differing) = compare(&fabric, &[apart(&fabric), by_lot(&fabric, 1, 3)], detours);
    assert_eq!(count, 4);
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn state_that_a_rack_shares_stays_in_the_rack() {
    let fabric = leaf_spine();
    let shares = |descriptor: &Descriptor| matches!(descriptor.reads_elsewhere, Some(Elsewhere::Rack(_)));
    let partitions = [racks_by_lot(&fabric, 1, 2), racks_by_lot(&fabric, 2, 4)];
    let (count, differing) = compare(&fabric, &partitions, shares);
    assert!(count > 0);
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn whoever_reads_elsewhere_is_refused() {
    let fabric = leaf_spine();
    let mut refused = 0;
    for descriptor in registry::all() {
        let (what, by_racks) = match descriptor.reads_elsewhere {
            None => continue,
            Some(Elsewhere::Rack(what)) => (what, true),
            Some(Elsewhere::Fabric(what)) => (what, false),
        };
        let settings = settings_of(descriptor, &fabric);
        let error = simulated(&fabric, &settings, Some(&apart(&fabric))).unwrap_err();
        assert!(error.contains(what) && error.contains(descriptor.name), "{error}");
        assert_eq!(simulated(&fabric, &settings, Some(&racks_by_lot(&fabric, 1, 2))).is_ok(), by_racks);
        refused += 1;
    }
    assert!(refused > 0);
}
