//! In-band telemetry: what each port of a switch tells of itself in the data that it sends (INT), and in the answers that
//! return it.
//!
//! Records stand beside the packets, by their slot: a packet stays one cache line, and a fabric where nobody reads
//! telemetry has none.

use crate::Packet;
use crate::slab::PacketId;

/// Port on the path of a packet, as in-band telemetry reports it when the packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hop {
    /// Its number.
    pub port: u32,
    /// Rate of its link, in bits per second.
    pub rate_bps: u64,
    /// Bytes that it has sent so far.
    pub sent_bytes: u64,
    /// Bytes that wait in it.
    pub backlog_bytes: u64,
    /// When, in picoseconds.
    pub at_ps: u64,
}

/// Most ports that a packet has room for: what HPCC's paper reserves for five and more, for any fabric of ours.
const HOPS: usize = 8;

/// What a packet carries.
#[derive(Clone, Copy, Default)]
pub(crate) struct Carried {
    hops: [Hop; HOPS],
    count: u8,
}

impl Carried {
    /// Ports that sent it, the first one first.
    pub(crate) fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count)]
    }
}

/// What all packets carry.
#[derive(Default)]
pub(crate) struct Telemetry {
    carried: Vec<Carried>,
    /// What the packet carried that reached its host last.
    arrived: Carried,
}

impl Telemetry {
    fn at(&mut self, id: PacketId) -> &mut Carried {
        if self.carried.len() <= id.slot() {
            self.carried.resize((id.slot() + 1).next_power_of_two().max(1024), Carried::default());
        }
        &mut self.carried[id.slot()]
    }

    /// A host sends a packet: an answer returns what the packet carried that it answers, anything else carries nothing yet.
    pub(crate) fn originate(&mut self, id: PacketId, packet: &Packet) {
        let arrived = self.arrived;
        let carried = self.at(id);
        if packet.kind.is_answer() {
            *carried = arrived;
        } else {
            carried.count = 0;
        }
    }

    /// A port of a switch begins to send a packet.
    pub(crate) fn depart(&mut self, id: PacketId, hop: Hop) {
        let Carried { hops, count } = self.at(id);
        if let Some(next) = hops.get_mut(usize::from(*count)) {
            *next = hop;
            *count += 1;
        }
    }

    /// A packet reaches its host.
    pub(crate) fn arrive(&mut self, id: PacketId) {
        self.arrived = *self.at(id);
    }

    /// What a packet carries that another part of the fabric is to take in, if that is anything.
    pub(crate) fn carried(&self, id: PacketId) -> Option<Box<Carried>> {
        self.carried.get(id.slot()).filter(|carried| carried.count > 0).map(|&carried| Box::new(carried))
    }

    /// Takes in what a packet of another part carries.
    pub(crate) fn take_in(&mut self, id: PacketId, carried: Option<Box<Carried>>) {
        *self.at(id) = carried.map_or_else(Carried::default, |carried| *carried);
    }

    /// What the packet carried that reached its host last.
    pub(crate) fn arrived(&self) -> Carried {
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn hop(port: u32) -> Hop {
        Hop { port, ..Hop::default() }
    }

    #[test]
    fn an_answer_returns_what_the_packet_carried_and_a_slot_is_used_again_empty() {
        let (data, answer) = (Packet::default(), Packet { kind: Kind::Ack, ..Packet::default() });
        let mut telemetry = Telemetry::default();
        telemetry.originate(PacketId(7), &data);
        telemetry.depart(PacketId(7), hop(3));
        telemetry.depart(PacketId(7), hop(5));
        telemetry.arrive(PacketId(7));
        telemetry.originate(PacketId(2000), &answer);
        // Another packet takes the slot before the answer arrives.
        telemetry.originate(PacketId(7), &data);
        telemetry.depart(PacketId(7), hop(9));
        telemetry.arrive(PacketId(7));
        assert_eq!(telemetry.arrived().hops(), [hop(9)]);
        telemetry.arrive(PacketId(2000));
        assert_eq!(telemetry.arrived().hops(), [hop(3), hop(5)]);
    }

    #[test]
    fn ports_beyond_the_eighth_are_not_told() {
        let mut telemetry = Telemetry::default();
        telemetry.originate(PacketId(0), &Packet::default());
        (0..10).for_each(|port| telemetry.depart(PacketId(0), hop(port)));
        telemetry.arrive(PacketId(0));
        assert_eq!(telemetry.arrived().hops(), [0, 1, 2, 3, 4, 5, 6, 7].map(hop));
    }
}
