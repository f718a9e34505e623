//! Environment of schemes that name members by the numbers of a switch's own ports, and which of them groups
//! use.

use anabranch_fabric::Fabric;
use anabranch_split::{Env, capability};
use anabranch_traffic::random::Stream;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// A clock that stands, a stream, and which members can be used.
pub(crate) struct PortEnv<'a, F> {
    pub(crate) now_ns: u64,
    pub(crate) stream: &'a mut Pcg32,
    pub(crate) up: F,
}

impl<F: Fn(u16) -> bool> Env for PortEnv<'_, F> {
    const GIVES: u32 = capability::CLOCK
        | capability::RANDOM
        | capability::TAG
        | capability::TIMER
        | capability::PROBE
        | capability::FEEDBACK;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        self.stream.next_u32()
    }

    #[inline(always)]
    fn up(&self, member: u16) -> bool {
        (self.up)(member)
    }
}

/// The stream of one switch for one purpose.
pub(crate) fn stream(seed: u64, purpose: &str, switch: u32) -> Pcg32 {
    let mut source = Stream::of_entity(seed, purpose, switch);
    Pcg32::new(source.bits(), source.bits())
}

/// Number of each port among those ports of its node that count.
pub(crate) fn numbers(fabric: &Fabric, counts: impl Fn(u32) -> bool) -> Vec<u16> {
    let mut numbers = vec![0; fabric.ports().len()];
    for node in 0..fabric.nodes().len() as u32 {
        let counted = fabric.ports_of(node).iter().filter(|&&port| counts(port));
        for (number, &port) in (0..).zip(counted) {
            numbers[port as usize] = number;
        }
    }
    numbers
}

/// Number of each switch as a leaf, if it is one of `leaves` (nodes, in the order of their numbers).
pub(crate) fn leaf_of_switches(fabric: &Fabric, leaves: impl Iterator<Item = u32>) -> Vec<Option<u32>> {
    let hosts = fabric.hosts() as usize;
    let mut leaf_of = vec![None; fabric.nodes().len() - hosts];
    for (leaf, node) in (0..).zip(leaves) {
        leaf_of[node as usize - hosts] = Some(leaf);
    }
    leaf_of
}

/// Entry of a port that a group does not use.
const UNUSED: u16 = u16::MAX;

/// Member behind each port, by group and by number of the port at its switch, if it is one that carries.
#[derive(Default)]
pub(crate) struct Usable(Vec<Box<[u16]>>);

impl Usable {
    /// A group was planned. `number` has the numbers of ports at their switches, by port.
    pub(crate) fn plan(&mut self, group: u32, ports: &[u32], weights: &[u64], number: &[u16]) {
        let at = |port: &u32| usize::from(number[*port as usize]);
        let length = ports.iter().map(at).max().map_or(0, |last| last + 1);
        let mut members = vec![UNUSED; length].into_boxed_slice();
        for (member, (port, &weight)) in (0..).zip(ports.iter().zip(weights)) {
            if weight > 0 {
                members[at(port)] = member;
            }
        }
        match self.0.get_mut(group as usize) {
            Some(known) => *known = members,
            None => self.0.push(members),
        }
    }

    /// The member of `group` that a port of its switch is.
    #[inline(always)]
    pub(crate) fn member(&self, group: u32, number: u16) -> Option<u16> {
        let members = self.0.get(group as usize)?;
        members.get(usize::from(number)).copied().filter(|&member| member != UNUSED)
    }

    /// The member of `group` that a hash chooses, evenly among those that carry.
    pub(crate) fn hashed(&self, group: u32, hash: u32) -> Option<u16> {
        let carrying =
            || self.0.get(group as usize).into_iter().flatten().filter(|&&member| member != UNUSED);
        carrying().nth(anabranch_split::picks::uniform::index(hash, carrying().count())).copied()
    }
}
