//! Switches that are configured to hash header fields: which port each packet takes, polarisation against closed forms, and
//! what is refused.

use super::setup::{TEN_GIG, flow, leaf_spine, run, settings, udp, uplink};
use anabranch_balancers::{Granularity, Settings, Table, Task, registry, simulate};
use anabranch_fabric::topology::FatTree;
use anabranch_fabric::{Fabric, Tier};
use anabranch_sim::transport::roce::Roce;
use anabranch_sim::transport::{Control, Coupling, Mptcp, QueuePairs, SourcePorts, Tcp, Transport};
use anabranch_sim::{Field, Fields, Header, Nic, Observe, Outcome, Partition, Progress, SwitchHash};
use anabranch_split::hash::Hash;
use anabranch_split::picks::uniform;
use anabranch_traffic::{Flow, Ports};
use std::num::NonZeroU16;

const FIRST_PORT: u16 = 49_152;

fn hash(algorithm: Hash, seed: u32, offset: u8) -> SwitchHash {
    SwitchHash { algorithm, fields: Fields::default_of(algorithm), seed, offset }
}

/// Flows of one datagram each, alike but for their source ports, which follow each other.
fn one_each(count: u16, src: u32, dst: u32) -> Vec<Flow> {
    let one = |number: u16| {
        let source = NonZeroU16::new(FIRST_PORT + number);
        Flow {
            ports: Ports { source, destination: None },
            ..flow(src, dst, 1000, u64::from(number) * 10_000_000)
        }
    };
    (0..count).map(one).collect()
}

/// Two tiers that choose: the leaves of a fat-tree of 8 and its aggregation switches have four next hops upwards each.
fn fat_tree() -> Fabric {
    FatTree { k: 8, ..FatTree::default() }.build().unwrap()
}

/// Settings of UDP under which the tiers hash so, leaves first; the core has no choice upwards.
fn hashed(fabric: &Fabric, leaf: SwitchHash, aggregation: SwitchHash) -> Settings {
    let of = |tier: Tier| match tier {
        Tier::Leaf => Some(leaf),
        Tier::Aggregation => Some(aggregation),
        _ => None,
    };
    let switches = &fabric.nodes()[fabric.hosts() as usize..];
    let switch_hashes = switches.iter().map(|node| of(node.tier)).collect();
    Settings { switch_hashes, ..settings(udp(10_000_000_000)) }
}

/// Datagrams on each port from an aggregation switch to the core, of those that carry any.
fn used(fabric: &Fabric, outcome: &Outcome) -> Vec<u64> {
    let tier = |node: u32| fabric.nodes()[node as usize].tier;
    let ports = outcome.ports.iter().filter(|record| {
        let port = &fabric.ports()[record.port as usize];
        tier(port.from) == Tier::Aggregation && tier(port.to) == Tier::Spine && record.sent_packets > 0
    });
    ports.map(|record| record.sent_packets).collect()
}

fn used_under(leaf: SwitchHash, aggregation: SwitchHash) -> Vec<u64> {
    let fabric = fat_tree();
    let flows = one_each(256, 0, fabric.hosts() - 1);
    used(&fabric, &run(&fabric, &flows, &hashed(&fabric, leaf, aggregation)))
}

/// Both tiers read the two highest bits of the same hash: an aggregation switch sees one value of them and uses one of its
/// four ports. An offset by `o` leaves `2 - o` of the bits in common, so that 2^(2 + o) of 16 paths are used.
#[test]
fn offsets_give_back_the_paths_that_polarisation_takes() {
    for (offset, paths) in [(0, 4), (1, 8), (2, 16), (7, 16), (31, 8), (30, 16)] {
        let crc32 = hash(Hash::Crc32, 0, 0);
        let used = used_under(crc32, SwitchHash { offset, ..crc32 });
        assert_eq!(used, vec![256 / paths; paths as usize], "offset {offset}");
    }
}

/// Another seed of a linear hash adds a constant: next hops have other numbers, and no more of them are used.
#[test]
fn seeds_of_linear_hashes_cure_nothing() {
    for algorithm in [Hash::Crc16, Hash::Crc32, Hash::Crc32c, Hash::Xor32] {
        for seed in [0, 1, 0xdead_beef, 0x8000_0001] {
            let used = used_under(hash(algorithm, 0, 0), hash(algorithm, seed, 0));
            let alone = used_under(hash(algorithm, 0, 0), hash(algorithm, 0, 0));
            assert_eq!(used, alone, "{algorithm} with seed {seed:#x}");
            assert!(used.len() <= 4, "{algorithm} with seed {seed:#x}: {used:?}");
        }
    }
}

/// Rank over GF(2) of the four bits by which two tiers pick, as functions of the low eight bits of the source port: the
/// paths that all 256 ports take are an affine space of that dimension.
fn rank(leaf: SwitchHash, aggregation: SwitchHash) -> u32 {
    let header = |bits: u16| {
        let transport = udp(1_000_000_000);
        let hosts = [0, fat_tree().hosts() - 1];
        Header::of(&transport, hosts, FIRST_PORT + bits, 0)
    };
    let picked = |bits| leaf.of(&header(bits)) >> 30 << 2 | aggregation.of(&header(bits)) >> 30;
    let mut rows: Vec<u32> = (0..8).map(|bit| picked(1 << bit) ^ picked(0)).collect();
    let mut rank = 0;
    for bit in 0..4 {
        let Some(pivot) = rows.iter().position(|row| row >> bit & 1 == 1) else { continue };
        let pivot = rows.swap_remove(pivot);
        rows.iter_mut().filter(|row| **row >> bit & 1 == 1).for_each(|row| *row ^= pivot);
        rank += 1;
    }
    rank
}

/// Another linear function shares no bits in general: as many paths are used as the rank of both together says, each by as
/// many flows.
#[test]
fn another_linear_hash_uses_as_many_paths_as_their_rank_says() {
    let crc32 = hash(Hash::Crc32, 0, 0);
    let mut ranks = Vec::new();
    for other in [
        hash(Hash::Crc32c, 0, 0),
        hash(Hash::Crc16, 0, 0),
        hash(Hash::Toeplitz, 0, 0),
        hash(Hash::Xor16, 0, 0),
        crc32,
        SwitchHash { offset: 1, ..crc32 },
    ] {
        let paths = 1 << rank(crc32, other);
        assert_eq!(used_under(crc32, other), vec![256 / paths; paths as usize], "{other:?}");
        ranks.push(paths);
    }
    assert_eq!(ranks[0], 16, "CRC-32C behind CRC-32 uses all paths");
    // A seed of Toeplitz makes another key, which is another function.
    let toeplitz = [0, 1].map(|seed| hash(Hash::Toeplitz, seed, 0));
    assert_eq!(used_under(toeplitz[0], toeplitz[0]).len(), 4);
    let paths = 1 << rank(toeplitz[0], toeplitz[1]);
    assert_eq!(used_under(toeplitz[0], toeplitz[1]), vec![256 / paths; paths as usize]);
    assert!(paths > 4, "{paths}");
}

/// Another seed of a function that is not linear is another function: 256 flows miss one of 16 paths with probability
/// 16 (15/16)^256, once in a million.
#[test]
fn seeds_of_other_hashes_cure() {
    for algorithm in [Hash::Murmur3, Hash::Lookup3, Hash::Xxh3] {
        assert_eq!(used_under(hash(algorithm, 1, 0), hash(algorithm, 1, 0)).len(), 4, "{algorithm}");
        assert_eq!(used_under(hash(algorithm, 1, 0), hash(algorithm, 2, 0)).len(), 16, "{algorithm}");
    }
}

/// A switch that is not configured hashes ideally, by the salt that it has without any configuration: the first tier by its
/// hash, the second as if nothing were configured.
#[test]
fn switches_without_a_hash_keep_their_own() {
    let fabric = fat_tree();
    let flows = one_each(256, 0, fabric.hosts() - 1);
    let ideal = settings(udp(10_000_000_000));
    let none = Settings {
        switch_hashes: vec![None; fabric.nodes().len() - fabric.hosts() as usize],
        ..ideal.clone()
    };
    let [with, without] = [none, ideal].map(|settings| run(&fabric, &flows, &settings));
    assert_eq!(with.flows, without.flows);
    assert_eq!(used(&fabric, &with), used(&fabric, &without));
    assert_eq!(used(&fabric, &with).len(), 16);
}

fn over_roce(queue_pairs: QueuePairs, fabric: &Fabric, fields: &[Field]) -> Settings {
    let hash = SwitchHash { fields: fields.iter().copied().collect(), ..hash(Hash::Crc32, 9, 0) };
    Settings {
        switch_hashes: vec![Some(hash); fabric.nodes().len() - fabric.hosts() as usize],
        nic: Nic::RDMA,
        observe: Observe {
            capture_ports: (0..fabric.ports().len() as u32).collect(),
            capture_packets_max: 10_000,
            ..Observe::default()
        },
        ..settings(Transport::Roce(Roce { queue_pairs, ..Roce::plain() }))
    }
}

/// Each packet leaves a leaf by the port that the hash of its header names, both ways.
#[test]
fn a_packet_takes_the_port_that_its_header_names() {
    let fabric = leaf_spine(2, 5, 4, TEN_GIG);
    let flows: Vec<Flow> = (0..64).map(|i| flow(i % 4, 4 + i / 4 % 4, 3000, 0)).collect();
    let settings = over_roce(QueuePairs::ONE, &fabric, &Field::ALL);
    let hash = settings.switch_hashes[0].unwrap();
    let outcome = run(&fabric, &flows, &settings);
    assert_eq!(outcome.totals.flows_finished, 64);
    let mut ports = 0;
    for capture in &outcome.captures {
        let leaf = capture.src / 4;
        let (first, last) = (uplink(2, 5, 4, leaf, 0), uplink(2, 5, 4, leaf, 4));
        let header = capture.header.unwrap();
        assert_eq!([header.source, header.destination], [capture.src, capture.packet.destination]);
        if (first..=last).contains(&capture.port) && capture.port % 2 == first % 2 {
            let spine = uniform::index(hash.of(&header), 5) as u32;
            assert_eq!(capture.port, uplink(2, 5, 4, leaf, spine));
            ports |= 1 << spine;
        }
    }
    assert_eq!(ports, 0b11111, "all spines are used");
}

/// The destination queue pair tells queue pairs apart that have all else in common.
#[test]
fn the_destination_queue_pair_is_a_field() {
    let fabric = leaf_spine(2, 4, 1, TEN_GIG);
    let source_ports = SourcePorts::of(&[FIRST_PORT; 64]);
    let pairs = QueuePairs { count: 64, source_ports, ..QueuePairs::ONE };
    let spines = |fields: &[Field]| {
        let outcome = run(&fabric, &[flow(0, 1, 640_000, 0)], &over_roce(pairs, &fabric, fields));
        let uplinks = (0..4).map(|spine| uplink(2, 4, 1, 0, spine));
        uplinks.filter(|&port| outcome.captures.iter().any(|capture| capture.port == port)).count()
    };
    assert_eq!(spines(&Field::ALL[..5]), 1, "64 queue pairs have one five-tuple");
    assert_eq!(spines(&Field::ALL), 4);
}

/// Queue pairs that are kept have their numbers and their source ports through all messages.
#[test]
fn kept_queue_pairs_keep_their_headers() {
    let fabric = leaf_spine(2, 4, 1, TEN_GIG);
    let source_ports = SourcePorts::of(&[50_000, 50_001, 50_002]);
    let pairs = QueuePairs { count: 4, persistent: true, source_ports, ..QueuePairs::ONE };
    let flows = [flow(0, 1, 64_000, 0), flow(0, 1, 64_000, 1_000_000_000)];
    let outcome = run(&fabric, &flows, &over_roce(pairs, &fabric, &Field::ALL));
    assert_eq!(outcome.totals.flows_finished, 2);
    let mut headers: Vec<_> = outcome
        .captures
        .iter()
        .filter(|capture| capture.src == 0)
        .filter_map(|capture| capture.header)
        .map(|header| (header.source_port, header.queue_pair.unwrap()))
        .collect();
    headers.sort_unstable();
    headers.dedup();
    assert_eq!(headers.len(), 4, "{headers:?}");
    let ports: Vec<u16> = headers.iter().map(|header| header.0).collect();
    assert!((50_000..50_003).all(|port| ports.contains(&port)), "{ports:?}");
}

/// Values of the load balancer that serve a part of the fabric each choose alike.
#[test]
fn a_partition_changes_nothing() {
    let fabric = fat_tree();
    let flows = one_each(64, 0, fabric.hosts() - 1);
    let settings = hashed(&fabric, hash(Hash::Crc32, 0, 0), hash(Hash::Murmur3, 3, 0));
    let whole = run(&fabric, &flows, &settings);
    let partition = Partition::new(
        (0..fabric.nodes().len() as u32 - fabric.hosts()).collect(),
        (0..fabric.hosts()).collect(),
    );
    let progress = Progress::default();
    let task = Task::new(&fabric, &flows, &settings, &progress).unwrap().partitioned(&partition).unwrap();
    assert_eq!(task.simulate().unwrap().flows, whole.flows);
}

/// What does not choose by a hash of the header alone is refused, whichever load balancer it is; what does runs.
#[test]
fn other_load_balancers_are_refused() {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let flows = [flow(0, 2, 1000, 0)];
    let mut run_all = Vec::new();
    for descriptor in registry::all() {
        let mut settings = settings(udp(1_000_000_000));
        settings.switch_hashes = vec![Some(hash(Hash::Crc32, 0, 0)); 4];
        match descriptor.build {
            anabranch_balancers::Build::Tables(granularity, table) => {
                (settings.balancing.granularity, settings.balancing.table) = (granularity, table);
            }
            anabranch_balancers::Build::Scheme(scheme) => settings.balancing.scheme = scheme(),
        }
        let outcome = simulate(&fabric, &flows, &settings, &Progress::default());
        assert_eq!(outcome.is_ok(), settings.balancing.hashes_headers(), "{}", descriptor.name);
        if outcome.is_ok() {
            run_all.push(descriptor.name);
        }
    }
    assert_eq!(run_all, ["ecmp", "random", "weighted", "weighted-random", "wcmp", "scoring", "valo"]);
    let mut flowlets = settings(udp(1_000_000_000));
    flowlets.switch_hashes = vec![None; 4];
    (flowlets.balancing.granularity, flowlets.balancing.table) = (Granularity::FLOWLET, Table::MinMove);
    assert!(simulate(&fabric, &flows, &flowlets, &Progress::default()).is_err());
}

#[test]
fn contradictions_are_refused() {
    let fabric = leaf_spine(2, 2, 2, TEN_GIG);
    let refused = |settings: &Settings, flows: &[Flow]| {
        simulate(&fabric, flows, settings, &Progress::default()).unwrap_err().to_string()
    };
    let few = Settings { switch_hashes: vec![None; 3], ..settings(udp(1_000_000_000)) };
    assert!(refused(&few, &[flow(0, 2, 1000, 0)]).contains("3 for 4 switches"));
    let kept = QueuePairs { persistent: true, ..QueuePairs::ONE };
    let ported = |source, destination| {
        let [source, destination] = [source, destination].map(NonZeroU16::new);
        [Flow { ports: Ports { source, destination }, ..flow(0, 2, 1000, 0) }]
    };
    assert!(
        refused(&over_roce(kept, &fabric, &Field::ALL), &ported(9, 0)).contains("keep their connections")
    );
    let one = over_roce(QueuePairs::ONE, &fabric, &Field::ALL);
    assert!(refused(&one, &ported(0, 9)).contains("a destination port"));
    run(&fabric, &ported(9, 0), &one);
    // Queue pairs and subflows have the ports that follow, and 65535 is the last.
    let four = over_roce(QueuePairs { count: 4, ..QueuePairs::ONE }, &fabric, &Field::ALL);
    run(&fabric, &ported(65_532, 0), &four);
    let subflows = Mptcp { tcp: Tcp::plain(Control::NewReno), subflows: 4, coupling: Coupling::Lia };
    for settings in [four, settings(Transport::Mptcp(subflows))] {
        assert_eq!(
            refused(&settings, &ported(65_533, 0)),
            "flow 0: source port 65533, and it has 4 connections from there on; give one of at most 65532"
        );
    }
}
