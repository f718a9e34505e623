//! Open vSwitch's hashes against the choices of a running Open vSwitch (`vectors/ovs`).

use anabranch_split::FiveTuple;
use anabranch_split::hash::open_vswitch as ovs;
use std::net::IpAddr;

/// Reads a 5-tuple in five columns: addresses, protocol, ports.
fn tuple(columns: &[&str]) -> FiveTuple {
    let [source, destination, protocol, source_port, destination_port] = columns else {
        panic!("{columns:?}: not five columns");
    };
    let protocol = protocol.parse().unwrap();
    let (from, to) = (source_port.parse().unwrap(), destination_port.parse().unwrap());
    match (source.parse().unwrap(), destination.parse().unwrap()) {
        (IpAddr::V4(s), IpAddr::V4(d)) => FiveTuple::v4(s.octets(), d.octets(), protocol, from, to),
        (IpAddr::V6(s), IpAddr::V6(d)) => FiveTuple::v6(s.octets(), d.octets(), protocol, from, to),
        _ => panic!("{columns:?}: of two versions"),
    }
}

fn list(column: &str) -> Vec<u32> {
    column.split(':').map(|number| number.parse().unwrap()).collect()
}

/// Bucket that `group_best_live_bucket` picks: the low 16 bits of the hash times the weight; a tie goes to the later
/// bucket, and a bucket of weight zero is never live.
fn best_bucket(weights: &[u32], bucket_ids: &[u32], basis: u32) -> u32 {
    let mut best = (0, None);
    for (&weight, &id) in weights.iter().zip(bucket_ids).filter(|&(&weight, _)| weight > 0) {
        let score = (ovs::hash_int(id, basis) & 0xffff) * weight;
        if score >= best.0 {
            best = (score, Some(id));
        }
    }
    best.1.unwrap()
}

#[test]
fn select_groups_choose_the_same_bucket() {
    let lines = include_str!("../../../../../vectors/ovs/select_group.csv").lines().skip(1);
    let mut asked = 0;
    let mut differing = Vec::new();
    for line in lines {
        let columns: Vec<_> = line.split(',').collect();
        let basis = ovs::selection_basis(&tuple(&columns[3..8]), columns[2].parse().unwrap());
        let bucket = best_bucket(&list(columns[0]), &list(columns[1]), basis);
        if bucket != columns[8].parse().unwrap() {
            differing.push(line);
        }
        asked += 1;
    }
    assert_eq!(differing, [""; 0]);
    assert_eq!(asked, 4000);
}

#[test]
fn dp_hash_reaches_the_same_slot() {
    let lines = include_str!("../../../../../vectors/ovs/dp_hash.csv").lines().skip(1);
    let mut asked = 0;
    let mut differing = Vec::new();
    for line in lines {
        let columns: Vec<_> = line.split(',').collect();
        let (tuple, basis) = (tuple(&columns[2..7]), columns[1].parse().unwrap());
        let hash = match columns[0] {
            "l4" => ovs::dp_hash_l4(&tuple, basis),
            "sym-l4" => ovs::dp_hash_sym_l4(&tuple, basis),
            other => panic!("{other}: no such algorithm"),
        };
        if hash & 0xff != columns[7].parse().unwrap() {
            differing.push(line);
        }
        asked += 1;
    }
    assert_eq!(differing, [""; 0]);
    assert_eq!(asked, 3200);
}
