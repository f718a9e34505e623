//! Several groups in one datapath: the longest prefix decides, generations do not mix, a dead group drops.

use super::privilege::permitted;
use anabranch_kernel::body::Body;
use anabranch_kernel::layout::MEMBERS;
use anabranch_kernel::trial::Packet;
use anabranch_kernel::{Capacity, Group, Member, Object, Output, Prefix, Program};
use std::net::IpAddr;

const GOES_ON: u32 = u32::MAX;
const DROPPED: u32 = 2;
const NOT_MARKED: u8 = 63;

fn load(capacity: Capacity) -> Option<Program> {
    permitted("groups", Program::load(Object::Slots, capacity))
}

/// A group that writes `dscp` into every packet to its prefixes.
fn marking(dscp: u32, prefixes: &[&str]) -> (Group, Body) {
    let group = Group {
        name: format!("dscp {dscp}"),
        prefixes: prefixes.iter().map(|prefix| Prefix::parse(prefix).unwrap()).collect(),
        members: vec![Member { target: dscp, weight: 1, up: true, gateway: None }],
        output: Output::Dscp,
        seed: dscp,
        pause_ns: 0,
        turns: Vec::new(),
        plain: false,
    };
    let body = Body::make(Object::Slots, &group, None).unwrap();
    (group, body)
}

/// A UDP packet to an address, with a DSCP that no group writes.
fn to(address: &str) -> Vec<u8> {
    let mut frame = vec![2; 12];
    match address.parse().unwrap() {
        IpAddr::V4(address) => {
            frame.extend([8, 0, 0x45, NOT_MARKED << 2, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1]);
            frame.extend(address.octets());
        }
        IpAddr::V6(address) => {
            frame.extend([0x86, 0xdd, 0x60 | NOT_MARKED >> 2, (NOT_MARKED & 3) << 6, 0, 0, 0, 8, 17, 64]);
            frame.extend([0xfd; 16]);
            frame.extend(address.octets());
        }
    }
    frame.extend([0, 9, 0, 9, 0, 8, 0, 0]);
    frame
}

/// Value that the program returns, and the DSCP afterwards.
fn sent(program: &mut Program, address: &str) -> (u32, u8) {
    let mut after = Vec::new();
    let trial = program.try_packet(&Packet::new(&to(address)), &mut after, 1).unwrap();
    let dscp = if after[12] == 8 { after[15] >> 2 } else { after[14] << 2 & 63 | after[15] >> 6 };
    (trial.verdict, dscp)
}

#[test]
fn the_longest_prefix_decides_and_what_has_none_passes() {
    let Some(mut program) = load(Capacity { groups: 3, routes: 4, replay: false }) else { return };
    // The first bits of a00::/8 are those of 10.0.0.0/8, of the other family.
    let groups = [
        marking(10, &["10.0.0.0/8"]),
        marking(11, &["10.1.0.0/16", "a00::/8"]),
        marking(12, &["2001:db8::/32"]),
    ];
    program.put(&groups).unwrap();
    let expected = [
        ("10.2.0.1", 10),
        ("10.1.0.1", 11),
        ("11.0.0.1", NOT_MARKED),
        ("2001:db8::9", 12),
        ("a01::", 11),
        ("b00::", NOT_MARKED),
    ];
    for (address, dscp) in expected {
        assert_eq!(sent(&mut program, address), (GOES_ON, dscp), "{address}");
    }
    let counters = program.counters().unwrap();
    let packets: Vec<u64> = counters.chunks(MEMBERS).map(|group| group[0].packets).collect();
    assert_eq!(packets, [1, 2, 1]);
}

#[test]
fn a_change_replaces_plans_and_routes_together() {
    let Some(mut program) = load(Capacity { groups: 2, routes: 1, replay: false }) else { return };
    for turn in 0..5 {
        let (mut first, mut second) = (marking(turn, &[]), marking(turn + 32, &[]));
        let owner = if turn % 2 == 0 { &mut first } else { &mut second };
        owner.0.prefixes.push(Prefix::parse("10.0.0.0/8").unwrap());
        program.put(&[first, second]).unwrap();
        assert_eq!(sent(&mut program, "10.0.0.1"), (GOES_ON, (turn + turn % 2 * 32) as u8), "{turn}");
    }
    program.put(&[marking(1, &[]), marking(2, &[])]).unwrap();
    assert_eq!(sent(&mut program, "10.0.0.1"), (GOES_ON, NOT_MARKED));
}

#[test]
fn a_group_without_a_living_member_drops() {
    let Some(mut program) = load(Capacity { groups: 2, routes: 2, replay: false }) else { return };
    let mut dead = marking(1, &["10.0.0.0/8"]);
    dead.0.members[0].up = false;
    program.put(&[dead, marking(2, &["11.0.0.0/8"])]).unwrap();
    assert_eq!(sent(&mut program, "10.0.0.1"), (DROPPED, NOT_MARKED));
    assert_eq!(sent(&mut program, "11.0.0.1"), (GOES_ON, 2));
}
