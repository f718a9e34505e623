//! Frames of every kind through the programs: nothing changes but the field that the output names and its checksum, what
//! passes is as it was, and flows are told apart as another parser (etherparse) does.

use super::frames::{any_frame, checksum};
use super::privilege::permitted;
use anabranch_kernel::body::Body;
use anabranch_kernel::layout::MEMBERS;
use anabranch_kernel::trial::Packet;
use anabranch_kernel::{Capacity, Group, Member, Object, Output, Program};
use anabranch_split::FiveTuple;
use anabranch_split::hash::Hash;
use etherparse::{Ipv4HeaderSlice, Ipv6ExtensionSlice, LinkExtSlice, NetSlice, SlicedPacket};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::cell::RefCell;
use std::ops::Range;

const CASES: u32 = 20_000;
const SEED: u32 = 99;
const GOES_ON: u32 = u32::MAX;
const REDIRECTED: u32 = 7;
const XDP_PASSES: u32 = 2;
const XDP_REDIRECTED: u32 = 4;

/// Headers and flow of a frame as etherparse sees them.
struct Seen {
    ip: usize,
    v6: bool,
    tuple: FiveTuple,
    /// Offset of an unfragmented UDP header.
    udp: Option<usize>,
    /// Whether there are no more headers than programs walk through.
    walkable: bool,
}

/// Reads a frame by etherparse; `None` if that refuses it, or if ports would lie behind the end of the IP packet.
fn seen(frame: &[u8]) -> Option<Seen> {
    let sliced = SlicedPacket::from_ethernet(frame).ok()?;
    let known = |tag: &LinkExtSlice<'_>| matches!(tag, LinkExtSlice::Vlan(_));
    if !sliced.link_exts.iter().all(known) {
        return None;
    }
    let tags = sliced.link_exts.len();
    let ip = 14 + 4 * tags;
    let types = (0..tags).map(|tag| u16::from_be_bytes([frame[12 + 4 * tag], frame[13 + 4 * tag]]));
    let mut walkable = tags <= 2 && types.into_iter().all(|kind| [0x8100, 0x88a8].contains(&kind));
    let (protocol, payload, fragmented) = match sliced.net.as_ref()? {
        NetSlice::Ipv4(v4) => {
            // Authentication headers belong to IPv6 alone here.
            let protocol = v4.header().protocol().0;
            let payload = if protocol == 51 { &[][..] } else { v4.payload().payload };
            (protocol, payload, v4.is_payload_fragmented())
        }
        NetSlice::Ipv6(v6) => {
            let chain: Vec<Ipv6ExtensionSlice<'_>> = v6.extensions().clone().into_iter().collect();
            let piece = chain.iter().position(
                |header| matches!(header, Ipv6ExtensionSlice::Fragment(header) if header.is_fragmenting_payload()),
            );
            let walked = piece.map_or(chain.len(), |piece| piece + 1);
            let bytes: usize = chain[..walked].iter().map(|header| header_bytes(header)).sum();
            walkable &= walked <= 6 && ip + 40 + bytes <= 450;
            match piece.map(|piece| &chain[piece]) {
                // What follows is a header in the first piece alone.
                Some(Ipv6ExtensionSlice::Fragment(header)) => (header.next_header().0, &[][..], true),
                _ => (v6.payload().ip_number.0, v6.payload().payload, false),
            }
        }
        NetSlice::Arp(_) => return None,
    };
    let with_ports = !fragmented && [6, 17, 132].contains(&protocol);
    if with_ports && payload.len() < 4 {
        return None;
    }
    let ports = if with_ports { [payload[0], payload[1], payload[2], payload[3]] } else { [0; 4] };
    let (from, to) = (u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]]));
    let (v6, tuple) = match sliced.net.as_ref()? {
        NetSlice::Ipv4(v4) => {
            (false, FiveTuple::v4(v4.header().source(), v4.header().destination(), protocol, from, to))
        }
        NetSlice::Ipv6(v6) => {
            (true, FiveTuple::v6(v6.header().source(), v6.header().destination(), protocol, from, to))
        }
        NetSlice::Arp(_) => return None,
    };
    let udp = (with_ports && protocol == 17).then(|| payload.as_ptr().addr() - frame.as_ptr().addr());
    Some(Seen { ip, v6, tuple, udp, walkable })
}

fn header_bytes(header: &Ipv6ExtensionSlice<'_>) -> usize {
    match header {
        Ipv6ExtensionSlice::HopByHop(raw)
        | Ipv6ExtensionSlice::Routing(raw)
        | Ipv6ExtensionSlice::DestinationOptions(raw) => raw.slice().len(),
        Ipv6ExtensionSlice::Fragment(fragment) => fragment.slice().len(),
        Ipv6ExtensionSlice::Authentication(authentication) => authentication.slice().len(),
    }
}

/// A group whose members' targets are `first` and the numbers behind it.
fn group(output: Output, first: u32) -> (Group, Body) {
    let member = |place| Member { target: first + place as u32, weight: 1, up: true, gateway: None };
    let group = Group {
        name: "all".into(),
        prefixes: Vec::new(),
        members: (0..MEMBERS).map(member).collect(),
        output,
        seed: SEED,
        pause_ns: 0,
        turns: Vec::new(),
        plain: false,
    };
    let body = Body::make(Object::Slots, &group, None).unwrap();
    (group, body)
}

/// Programs for every output, first targets behind them, and the one at XDP.
struct Programs {
    tc: [(Output, u32, Program); 4],
    xdp: Program,
    table: Body,
}

const OUTPUTS: [(Output, u32); 4] =
    [(Output::Redirect, 1), (Output::Dscp, 0), (Output::FlowLabel, 0xabc00), (Output::TunnelPort, 50_000)];

fn programs() -> Option<Programs> {
    let mut xdp = permitted("any packet", Program::load_xdp(Object::Slots, Capacity::one(false)))?;
    let redirecting = group(Output::Redirect, 1);
    let table = redirecting.1.clone();
    xdp.put(&[redirecting]).unwrap();
    let tc = OUTPUTS.map(|(output, first)| {
        let mut program = Program::load(Object::Slots, Capacity::one(false)).unwrap();
        program.put(&[group(output, first)]).unwrap();
        (output, first, program)
    });
    Some(Programs { tc, xdp, table })
}

/// The words of what an output may change, which must sum up as before: a checksum with what it covers.
fn region(output: Output, seen: &Seen) -> Option<(Range<usize>, bool)> {
    match (output, seen.v6) {
        (Output::Redirect | Output::Route, _) | (Output::FlowLabel, false) => None,
        (Output::Dscp, false) => Some((seen.ip..seen.ip + 12, true)),
        (Output::Dscp | Output::FlowLabel, true) => Some((seen.ip..seen.ip + 4, false)),
        (Output::TunnelPort, _) => seen.udp.map(|udp| (udp..udp + 8, true)),
    }
}

/// Compares a packet with what `output` should make of it for `target`, the checksum left out.
fn check(output: Output, target: u32, seen: &Seen, before: &[u8], after: &[u8]) -> Result<(), TestCaseError> {
    let Some((range, summed)) = region(output, seen) else {
        prop_assert_eq!(before, after);
        return Ok(());
    };
    prop_assert_eq!(&before[..range.start], &after[..range.start]);
    prop_assert_eq!(&before[range.end..], &after[range.end..]);
    let (then, now) = (&before[range.clone()], &after[range]);
    let word = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    match output {
        Output::Dscp if seen.v6 => prop_assert_eq!(word(now), word(then) & !(63 << 22) | target << 22),
        Output::Dscp => {
            prop_assert_eq!(word(now), word(then) & !(63 << 18) | target << 18);
            prop_assert_eq!(&now[4..10], &then[4..10]);
            let fresh = |frame: &[u8]| {
                let header = Ipv4HeaderSlice::from_slice(&frame[seen.ip..]).unwrap().to_header();
                header.header_checksum == header.calc_header_checksum()
            };
            prop_assert!(!fresh(before) || fresh(after), "etherparse: IPv4 checksum");
        }
        Output::FlowLabel => prop_assert_eq!(word(now), word(then) & !0xf_ffff | target),
        Output::TunnelPort => {
            let tunnel = [4789, 6081].contains(&(word(then) & 0xffff));
            prop_assert_eq!(word(now), if tunnel { word(then) & 0xffff | target << 16 } else { word(then) });
            // None stays none (RFC 768).
            if then[6..] == [0, 0] {
                prop_assert_eq!(&then[4..], &now[4..]);
                return Ok(());
            }
        }
        Output::Redirect | Output::Route => {}
    }
    if summed {
        // RFC 1624: what is covered and the checksum sum up to what they did, 0 being 0xffff.
        let sum = |bytes: &[u8]| u32::from(checksum(bytes)) % 0xffff;
        prop_assert_eq!(sum(then), sum(now), "checksum");
    }
    Ok(())
}

/// Whether `BPF_PROG_TEST_RUN` makes a packet for tc of it: not of IP that ends within its first header.
fn enters_tc(frame: &[u8]) -> bool {
    let least = match frame[12..14] {
        [0x08, 0x00] => 34,
        [0x86, 0xdd] => 54,
        _ => 15,
    };
    frame.len() >= least
}

/// One frame through all of them.
fn tried(programs: &mut Programs, frame: &[u8]) -> Result<(), TestCaseError> {
    let mut after = Vec::new();
    let trial = programs.xdp.try_packet(&Packet::new(frame), &mut after, 1).unwrap();
    prop_assert_eq!(frame, &after[..]);
    prop_assert!([XDP_PASSES, XDP_REDIRECTED].contains(&trial.verdict), "verdict {}", trial.verdict);
    let ours = trial.verdict == XDP_REDIRECTED;
    let seen = seen(frame);
    if let Some(seen) = &seen {
        prop_assert_eq!(ours, seen.walkable, "what etherparse accepts");
    }
    let member = seen.as_ref().map(|seen| {
        let Body::Slots(table) = &programs.table else { unreachable!() };
        let key = Hash::Wyhash32.key(&seen.tuple, SEED) as usize;
        u32::from(table[key % table.len()])
    });
    if !enters_tc(frame) {
        return Ok(());
    }
    for (output, first, program) in &mut programs.tc {
        let trial = program.try_packet(&Packet::new(frame), &mut after, 1).unwrap();
        let verdict = if ours && *output == Output::Redirect { REDIRECTED } else { GOES_ON };
        prop_assert_eq!(trial.verdict, verdict, "{:?}", output);
        prop_assert_eq!(frame.len(), after.len());
        if !ours {
            prop_assert_eq!(frame, &after[..], "{:?}: what passes", output);
        } else if let (Some(seen), Some(member)) = (&seen, member) {
            check(*output, *first + member, seen, frame, &after)?;
        } else {
            let changed = frame.iter().zip(&after).filter(|(before, after)| before != after).count();
            prop_assert!(changed <= 4, "{:?}: {changed} bytes changed", output);
        }
    }
    Ok(())
}

#[test]
fn any_packet_keeps_what_its_output_does_not_name() {
    let Some(programs) = programs() else { return };
    let programs = RefCell::new(programs);
    let config =
        Config { cases: CASES, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..Config::default() };
    let both = RefCell::new(0u32);
    let ran = TestRunner::new(config).run(&any_frame(), |frame| {
        *both.borrow_mut() += u32::from(seen(&frame).is_some_and(|seen| seen.walkable));
        tried(&mut programs.borrow_mut(), &frame)
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
    let both = both.into_inner();
    assert!(both > CASES / 4, "both parsers accept {both} of {CASES}");
}
