//! Every program in the running kernel against the library's own picks, over random groups whose members die, come back
//! and change their weights meanwhile: 100,000 packets and more for each, no difference allowed.

use super::flows::{mark, packet, random};
use super::privilege::permitted;
use super::reference::Reference;
use anabranch_kernel::body::Body;
use anabranch_kernel::layout::MEMBERS;
use anabranch_kernel::trial;
use anabranch_kernel::{Capacity, Group, Member, Object, Output, Prefix, Program};
use anabranch_split::Packet;
use anabranch_split::hash::Hash;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// 104,000 packets for each scheme.
const CASES: u32 = 26;
/// The same code behind another way in and out.
const XDP_CASES: u32 = 6;
const PACKETS: u32 = 4_000;
const PACKETS_PER_CHANGE: u32 = 200;
const FLOWS: u32 = 200;
const GROUPS_MAX: usize = 4;
const GOES_ON: u32 = u32::MAX;
const DROPPED: u32 = 2;
const REDIRECTED: u32 = 7;
const XDP_DROPPED: u32 = 1;
const XDP_REDIRECTED: u32 = 4;

/// Small weights, any, and the largest there are; some are zero.
fn weight() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 1u32..17, 2 => any::<u32>(), 1 => Just(u32::MAX), 1 => Just(1), 1 => Just(0)]
}

fn member() -> impl Strategy<Value = (u32, bool)> {
    (weight(), prop::bool::weighted(0.8))
}

/// A group; `number` names it and its prefixes.
fn group() -> impl Strategy<Value = Group> {
    let output = prop_oneof![
        4 => Just(Output::Dscp),
        1 => Just(Output::FlowLabel),
        1 => Just(Output::TunnelPort),
        1 => Just(Output::Redirect),
    ];
    let turns = prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u16>(), 1..=1024)];
    let members = prop_oneof![
        6 => prop::collection::vec(member(), 1..=MEMBERS),
        1 => prop::collection::vec(member(), MEMBERS),
        1 => prop::collection::vec(member(), 1),
    ];
    (members, output, any::<u32>(), 0u64..2_000_000, turns).prop_map(
        |(mut members, output, seed, pause_ns, turns)| {
            // Somebody weighs something.
            members[0].0 = members[0].0.max(1);
            let count = members.len() as u16;
            let member = |(place, (weight, up)): (usize, (u32, bool))| Member {
                target: place as u32,
                weight,
                up,
                gateway: None,
            };
            Group {
                name: "group".into(),
                prefixes: Vec::new(),
                members: members.into_iter().enumerate().map(member).collect(),
                output,
                seed,
                pause_ns,
                turns: turns.into_iter().map(|turn| turn % count).collect(),
                plain: seed % 4 == 0,
            }
        },
    )
}

fn routed(mut groups: Vec<Group>) -> Vec<Group> {
    for (number, group) in groups.iter_mut().enumerate() {
        let prefixes = [format!("10.{number}.0.0/16"), format!("fd00:{number:x}::/32")];
        group.prefixes = prefixes.iter().map(|prefix| Prefix::parse(prefix).unwrap()).collect();
    }
    groups
}

/// One group of all packets, or several with routes.
fn groups() -> impl Strategy<Value = Vec<Group>> {
    prop_oneof![
        group().prop_map(|group| vec![group]),
        prop::collection::vec(group(), 2..=GROUPS_MAX).prop_map(routed),
    ]
}

fn with_body(object: Object, group: Group) -> (Group, Body) {
    let body = Body::make(object, &group, None).unwrap();
    (group, body)
}

/// Something happens to a group: a member dies or comes back, or weighs something else. Usually the plan is made anew;
/// sometimes only the mask of the living changes, as a failure may that is heard of first.
fn change((group, body): &mut (Group, Body), object: Object, bits: u32) {
    let count = group.members.len();
    let member = &mut group.members[bits as usize % count];
    match bits >> 28 {
        0 => group.members.iter_mut().for_each(|member| member.up = false),
        1 => group.members.iter_mut().for_each(|member| member.up = true),
        2..5 => member.weight = (bits >> 8).max(1),
        _ => member.up = !member.up,
    }
    if bits >> 24 & 3 != 0 {
        *body = Body::make(object, group, Some(body)).unwrap();
    }
}

/// Keeps this thread on the processor it is on: what programs keep for each would begin anew on another.
fn stay() {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // proc_pid_stat(5): the 39th field, the 37th after the name in parentheses.
    let processor: usize =
        stat.rsplit(')').next().unwrap().split_whitespace().nth(36).unwrap().parse().unwrap();
    let mut only = CpuSet::new();
    only.set(processor).unwrap();
    sched_setaffinity(Pid::from_raw(0), &only).unwrap();
}

/// Compares a program's packets, changes and counters with the library's.
fn compare(mut program: Program, object: Object, xdp: bool, groups: Vec<Group>) -> Result<(), TestCaseError> {
    let mut held: Vec<(Group, Body)> = groups.into_iter().map(|group| with_body(object, group)).collect();
    let mut reference = Reference::new(object, held.len());
    program.put(&held).unwrap();
    let (mut after, mut now_ns) = (Vec::new(), 1_000_000_000u64);
    let mut counts = vec![0u64; MEMBERS * held.len()];
    let counted = |program: &Program| -> Vec<u64> {
        program.counters().unwrap().iter().map(|counter| counter.packets).collect()
    };
    let packets: Vec<_> = (0..FLOWS).map(|flow| packet(flow, flow as u8 % held.len() as u8)).collect();
    for index in 0..PACKETS {
        let drawn = random(index ^ held[0].0.seed);
        if index % PACKETS_PER_CHANGE == PACKETS_PER_CHANGE - 1 {
            // At XDP nothing but the counters tells members apart.
            prop_assert_eq!(&counted(&program), &counts, "{}: packet {}", object.name(), index);
            let number = drawn as usize % held.len();
            change(&mut held[number], object, random(drawn));
            program.put(&held).unwrap();
        }
        // Pauses around the flowlet gap.
        now_ns += u64::from(drawn >> 16) / 16;
        let flow = drawn % FLOWS;
        let number = flow as usize % held.len();
        let (tuple, frame) = &packets[flow as usize];
        let mut packet = Packet {
            flow: Hash::Wyhash32.key(tuple, held[number].0.seed),
            bytes: frame.len() as u32,
            ..Packet::default()
        };
        let expected = reference.pick(number, &held[number], &mut packet, now_ns, drawn);
        let sent = trial::Packet { now_ns, random: drawn, ..trial::Packet::new(frame) };
        let trial = program.try_packet(&sent, &mut after, 1).unwrap();
        let output = held[number].0.output;
        let verdict = match (expected, output) {
            (None, _) => {
                if xdp {
                    XDP_DROPPED
                } else {
                    DROPPED
                }
            }
            (Some(_), Output::Redirect) => {
                if xdp {
                    XDP_REDIRECTED
                } else {
                    REDIRECTED
                }
            }
            (Some(_), _) => GOES_ON,
        };
        prop_assert_eq!(trial.verdict, verdict, "{}: packet {}", object.name(), index);
        let Some(member) = expected else { continue };
        counts[number * MEMBERS + usize::from(member)] += 1;
        if let Some(marked) = mark(output, &after) {
            prop_assert_eq!(marked, u32::from(member), "{}: packet {}", object.name(), index);
        }
    }
    prop_assert_eq!(counted(&program), counts, "{}", object.name());
    Ok(())
}

fn agrees(object: Object, xdp: bool) {
    let load = if xdp { Program::load_xdp } else { Program::load };
    if permitted(object.name(), load(object, Capacity::one(true))).is_none() {
        return;
    }
    stay();
    let cases = if xdp { XDP_CASES } else { CASES };
    let config =
        Config { cases, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() };
    let ran = TestRunner::new(config).run(&groups(), |mut groups| {
        if xdp {
            groups.iter_mut().for_each(|group| group.output = Output::Redirect);
        }
        let routes: usize = groups.iter().map(|group| group.prefixes.len()).sum();
        let capacity = Capacity { groups: groups.len() as u32, routes: routes as u32, replay: true };
        compare(load(object, capacity).unwrap(), object, xdp, groups)
    });
    if let Err(error) = ran {
        panic!("{}: {error}", object.name());
    }
}

macro_rules! agreement {
    ($($test:ident: $object:ident),+ $(,)?) => {
        mod tc {
            $(#[test] fn $test() { super::agrees(super::Object::$object, false); })+
        }
        mod xdp {
            $(#[test] fn $test() { super::agrees(super::Object::$object, true); })+
        }
    };
}

agreement! {
    slots: Slots,
    slots_large: SlotsLarge,
    scores: Score,
    rendezvous: Rendezvous,
    spraying: Spray,
    flowlets: Flowlet,
    cycles: Cycle,
    flow_cycles: FlowCycle,
    presto: Presto,
}
