//! TCP or UDP ports of the hosts that open connections.

use anabranch_sim::CapturedPacket;
use std::collections::HashMap;

/// First of the dynamic ports (RFC 6335, section 6).
const FIRST: u16 = 49_152;
const COUNT: u16 = u16::MAX - FIRST + 1;

/// Hosts of a connection: the one that opened it, and the one it was opened to.
pub(super) fn ends(capture: &CapturedPacket) -> (u32, u32) {
    let CapturedPacket { src, packet, .. } = capture;
    if packet.kind.is_answer() { (packet.destination, *src) } else { (*src, packet.destination) }
}

/// Ports in use. Between two hosts they are assigned in order and used again after 16,384 connections.
#[derive(Default)]
pub(super) struct ConnectionPorts {
    /// Port of each connection, by its two hosts and its name; load balancers' messages between them have none.
    given: HashMap<(u32, u32, Option<u32>), u16>,
    /// Number of connections so far, by their two hosts.
    counts: HashMap<(u32, u32), u16>,
}

impl ConnectionPorts {
    /// Port of the connection that `capture` belongs to.
    pub(super) fn of(&mut self, capture: &CapturedPacket) -> u16 {
        let (client, server) = ends(capture);
        let Self { given, counts } = self;
        let name = (!capture.packet.kind.is_probe()).then_some(capture.packet.connection);
        *given.entry((client, server, name)).or_insert_with(|| {
            let count = counts.entry((client, server)).or_default();
            let port = FIRST + *count % COUNT;
            *count = (*count + 1) % COUNT;
            port
        })
    }
}
