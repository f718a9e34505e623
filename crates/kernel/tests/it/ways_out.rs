//! Fields that programs write into packets on their way out, and their checksums.

use super::frames::checksum;
use super::privilege::permitted;
use anabranch_kernel::body::Body;
use anabranch_kernel::program::Trial;
use anabranch_kernel::trial::Packet;
use anabranch_kernel::{Capacity, Group, Member, Object, Output, Program};

/// TC_ACT_UNSPEC.
const GOES_ON: u32 = u32::MAX;
const REDIRECTED: u32 = 7;

/// UDP to `port` over IPv4, ECN 2, behind so many VLAN tags; the UDP checksum is right, or none.
fn v4(tags: usize, port: u16, checked: bool) -> Vec<u8> {
    let mut ip = vec![0x45, 2, 0, 40, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut udp = [1000u16.to_be_bytes(), port.to_be_bytes(), 20u16.to_be_bytes(), [0; 2]].concat();
    udp.extend([7; 12]);
    if checked {
        let sum = checksum(&over(&ip, &udp));
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
    }
    let mut frame = vec![2; 12];
    frame.extend([0x81, 0, 0, 5].repeat(tags));
    frame.extend([8, 0]);
    frame.extend([ip, udp].concat());
    frame
}

/// Bytes that a UDP checksum covers (RFC 768).
fn over(ip: &[u8], udp: &[u8]) -> Vec<u8> {
    [&ip[12..20], &[0, 17, 0, 20], udp].concat()
}

fn v6() -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x86, 0xdd, 0x61, 0x20, 0, 0, 0, 20, 17, 64]);
    frame.extend([0xfd; 32]);
    frame.extend(&v4(0, 53, false)[34..]);
    frame
}

/// A program whose only member has this target.
fn program(output: Output, target: u32) -> Option<Program> {
    let mut program = permitted("ways out", Program::load(Object::Slots, Capacity::one(true)))?;
    let group = Group {
        name: "all".into(),
        prefixes: Vec::new(),
        members: vec![Member { target, weight: 1, up: true, gateway: None }],
        output,
        seed: 0,
        pause_ns: 0,
        turns: Vec::new(),
        plain: false,
    };
    let body = Body::make(Object::Slots, &group, None).unwrap();
    program.put(&[(group, body)]).unwrap();
    Some(program)
}

/// The frame after it.
fn sent(output: Output, target: u32, frame: &[u8]) -> Option<(Trial, Vec<u8>)> {
    let mut program = program(output, target)?;
    let mut after = Vec::new();
    let trial = program.try_packet(&Packet::new(frame), &mut after, 1).unwrap();
    Some((trial, after))
}

#[test]
fn a_dscp_leaves_ecn_and_a_right_checksum() {
    for tags in 0..=2 {
        let frame = v4(tags, 53, true);
        let Some((trial, after)) = sent(Output::Dscp, 46, &frame) else { return };
        let ip = 14 + 4 * tags;
        assert_eq!((trial.verdict, after[ip + 1]), (GOES_ON, 46 << 2 | 2), "{tags} tags");
        assert_eq!(checksum(&after[ip..ip + 20]), 0, "{tags} tags");
        assert_eq!(after[ip + 12..], frame[ip + 12..], "{tags} tags");
    }
    let (_, after) = sent(Output::Dscp, 46, &v6()).unwrap();
    // Traffic class 0x12 has ECN 2; 46 << 2 | 2 is 0xba.
    assert_eq!(after[14..18], [0x6b, 0xa0, 0, 0]);
    assert_eq!(after[18..], v6()[18..]);
}

#[test]
fn a_flow_label_leaves_the_rest() {
    let Some((trial, after)) = sent(Output::FlowLabel, 0xabcde, &v6()) else { return };
    assert_eq!((trial.verdict, &after[14..18]), (GOES_ON, &[0x61, 0x2a, 0xbc, 0xde][..]));
    assert_eq!(after[18..], v6()[18..]);
    let frame = v4(0, 53, true);
    assert_eq!(sent(Output::FlowLabel, 0xabcde, &frame).unwrap().1, frame);
}

#[test]
fn a_tunnels_port_has_a_right_checksum_or_none() {
    for (port, checked) in [(4789, true), (6081, true), (4789, false)] {
        let Some((trial, after)) = sent(Output::TunnelPort, 54321, &v4(0, port, checked)) else { return };
        assert_eq!((trial.verdict, &after[34..36]), (GOES_ON, &54321u16.to_be_bytes()[..]));
        let right = if checked { checksum(&over(&after[14..34], &after[34..])) } else { 0 };
        assert_eq!(right, 0, "{port}");
        assert_eq!(after[40..42] == [0, 0], !checked);
    }
    let other = v4(0, 53, true);
    assert_eq!(sent(Output::TunnelPort, 54321, &other).unwrap().1, other);
}

#[test]
fn a_redirected_packet_is_as_it_was_and_what_is_not_ip_passes() {
    let frame = v4(1, 53, true);
    let Some((trial, after)) = sent(Output::Redirect, 1, &frame) else { return };
    assert_eq!((trial.verdict, after), (REDIRECTED, frame));
    let mut arp = vec![2; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    let (trial, after) = sent(Output::Redirect, 1, &arp).unwrap();
    assert_eq!((trial.verdict, after), (GOES_ON, arp));
}

/// Packets as large as `BPF_PROG_TEST_RUN` takes them; a host's segments (GSO) have up to 64 KB.
#[test]
fn a_packet_that_will_be_segmented_is_one_decision_and_counts_as_its_segments() {
    const SEGMENTS: u32 = 5;
    let Some(mut program) = program(Output::Dscp, 46) else { return };
    let mut frame = v4(0, 53, false);
    frame.resize(3_000, 0);
    let whole = Packet { segments: SEGMENTS, ..Packet::new(&frame) };
    let mut after = Vec::new();
    for _ in 0..3 {
        program.try_packet(&whole, &mut after, 1).unwrap();
        assert_eq!((after.len(), after[15]), (3_000, 46 << 2 | 2));
    }
    program.try_packet(&Packet::new(&v4(0, 53, false)), &mut after, 1).unwrap();
    let counted = program.counters().unwrap()[0];
    assert_eq!((counted.packets, counted.bytes), (u64::from(3 * SEGMENTS + 1), 3 * 3_000 + 54));
}
