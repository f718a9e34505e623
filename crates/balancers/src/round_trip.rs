//! Round trip of an empty path: propagation and serialisation, with nothing in the way.

use crate::path_book::Route;
use anabranch_fabric::{Fabric, Port};
use anabranch_sim::Framing;

/// Full frame one way, and an answer of `answer_bytes` the other, between two leaves by the fastest of `routes`, in
/// nanoseconds.
pub(crate) fn between_leaves_ns(
    fabric: &Fabric,
    routes: &[Route],
    framing: Framing,
    answer_bytes: u16,
) -> u64 {
    fastest_ps(fabric, routes, framing, answer_bytes).div_ceil(1000)
}

/// Full frame from one host to another, and its acknowledgement back, by the fastest of `routes` between their leaves,
/// in nanoseconds.
pub(crate) fn between_hosts_ns(
    fabric: &Fabric,
    routes: &[Route],
    hosts: (u32, u32),
    framing: Framing,
) -> u64 {
    let answer_bytes = framing.frame_bytes(0);
    let to_leaf = fabric.ports_of(hosts.0).iter().copied();
    let from_leaf = fabric.ports_of(hosts.1).iter().map(|&port| fabric.ports()[port as usize].reverse);
    let links = to_leaf.chain(from_leaf).map(|port| there_and_back_ps(fabric, port, framing, answer_bytes));
    (links.sum::<u64>() + fastest_ps(fabric, routes, framing, answer_bytes)).div_ceil(1000)
}

fn fastest_ps(fabric: &Fabric, routes: &[Route], framing: Framing, answer_bytes: u16) -> u64 {
    let trip = |route: &Route| {
        let links = route.ports.iter().map(|&port| there_and_back_ps(fabric, port, framing, answer_bytes));
        links.sum::<u64>()
    };
    routes.iter().map(trip).min().unwrap_or(0)
}

fn there_and_back_ps(fabric: &Fabric, port: u32, framing: Framing, answer_bytes: u16) -> u64 {
    let wire = |bytes: u16| u32::from(bytes) + u32::from(framing.gap_bytes);
    let time_ps = |port: &Port, bytes| port.rate.serialization().frame_ps(bytes) + port.delay_ps;
    let forth = &fabric.ports()[port as usize];
    let back = &fabric.ports()[forth.reverse as usize];
    time_ps(forth, wire(framing.frame_bytes(framing.payload_bytes_max))) + time_ps(back, wire(answer_bytes))
}
