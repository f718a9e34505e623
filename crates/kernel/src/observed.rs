//! A group as it stands in the kernel, and what it says of how it was asked for.

use crate::body::{Body, Home};
use crate::group::{Group, Member, NO_TARGET, Prefix};
use crate::layout::{Gateways, Head, MEMBERS, Output};
use crate::object::Object;
use std::vec::Vec;

/// A group as it stands in the kernel.
pub(crate) struct Observed {
    pub(crate) group: Group,
    pub(crate) head: Head,
    pub(crate) body: Body,
    /// Home of its slots, if it has slots and the datapath keeps homes.
    pub(crate) home: Option<Home>,
}

/// A group as it was given, from what the kernel has of it.
pub(crate) fn described(
    name: &str,
    prefixes: Vec<Prefix>,
    object: Object,
    (head, gateways): (&Head, &Gateways),
    body: &Body,
) -> Group {
    let count = head.targets.iter().position(|&target| target == NO_TARGET).unwrap_or(MEMBERS);
    let members = (0..count)
        .map(|place| Member {
            target: head.targets[place],
            weight: head.weights[place],
            up: head.up >> place & 1 != 0,
            gateway: gateways[place].address(),
        })
        .collect();
    let output = Output::ALL.into_iter().find(|&one| one as u32 == head.output).unwrap_or(Output::Redirect);
    let mut group = Group {
        name: name.into(),
        prefixes,
        members,
        output,
        seed: head.seed,
        pause_ns: head.pause_ns,
        turns: Vec::new(),
        plain: false,
    };
    // What does not follow from the weights was given.
    if !Body::make(object, &group, None).is_ok_and(|made| made == *body) {
        group.turns = body.turns();
        group.plain = object == Object::Score;
    }
    group
}
