//! Which TCP or UDP port the host that opens a connection has.

use anabranch_sim::{CapturedPacket, Kind};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// First of the dynamic ports (RFC 6335, section 6).
const FIRST: u16 = 49_152;
const COUNT: u16 = u16::MAX - FIRST + 1;

/// The hosts of a connection: who opened it, and whom to.
pub(super) fn ends(capture: &CapturedPacket) -> (u32, u32) {
    match capture.packet.kind {
        Kind::Data | Kind::Syn | Kind::Datagram | Kind::Probe | Kind::HostProbe => {
            (capture.src, capture.packet.destination)
        }
        Kind::Ack | Kind::SynAck => (capture.packet.destination, capture.src),
    }
}

/// Ports in use. Between two hosts they are given in order and come again after 16,384 connections.
#[derive(Default)]
pub(super) struct ConnectionPorts {
    /// By hosts and name of the connection: its port, and the flow it was first seen with.
    given: HashMap<(u32, u32, u32), (u16, u32)>,
    /// By hosts: connections so far.
    counts: HashMap<(u32, u32), u16>,
}

impl ConnectionPorts {
    /// The port of the connection of the packet that was captured next.
    pub(super) fn of(&mut self, capture: &CapturedPacket) -> u16 {
        let (client, server) = ends(capture);
        let Self { given, counts } = self;
        let mut give = || {
            let count = counts.entry((client, server)).or_default();
            let port = FIRST + *count % COUNT;
            *count = (*count + 1) % COUNT;
            (port, capture.flow)
        };
        match given.entry((client, server, capture.packet.connection)) {
            Entry::Vacant(vacant) => vacant.insert(give()).0,
            Entry::Occupied(mut known) => {
                // Names of connections come again after 256 generations; a connection carries its byte zero only
                // with its first flow.
                let begins = capture.packet.seq == 0 && capture.src == client;
                if begins && known.get().1 != capture.flow {
                    known.insert(give());
                }
                known.get().0
            }
        }
    }
}
