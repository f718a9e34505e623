//! Header fields of all connections, where switches are configured to hash them.
//!
//! [`Packet::entropy`](crate::Packet::entropy) is then the number of a header. Numbers are not used again: a packet that is
//! late keeps its header, whatever its connection became.

use crate::header::{Header, SwitchHash};
use crate::transport::Transport;
use crate::{Kind, Packet, Settings};
use anabranch_plan::selection_hash;
use anabranch_split::picks::mix;
use anabranch_traffic::Flow;
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// First of the dynamic ports (RFC 6335, section 6).
const DYNAMIC_PORTS: u16 = 49_152;
/// Number of dynamic ports, less one.
const DYNAMIC_PORTS_MASK: u32 = 0x3fff;
/// Numbers of queue pairs: 24 bits, of which 0 and 1 are for management.
const QUEUE_PAIRS: u32 = (1 << 24) - 2;

/// Headers by number, and the counters that they are made of.
pub(crate) struct Headers {
    /// Hash of each switch; one without hashes ideally, with a salt of its own.
    hashes: Vec<Option<SwitchHash>>,
    /// Each header with the ideal hash of its fields.
    all: Vec<(Header, u32)>,
    salt: u32,
    /// Connections so far, by the host that opened them and the other.
    connections: HashMap<(u32, u32), u32>,
}

impl Headers {
    pub(crate) fn new(hashes: Vec<Option<SwitchHash>>, seed: u64) -> Self {
        Self { hashes, all: Vec::new(), salt: salt(seed), connections: HashMap::new() }
    }

    /// These headers, by their numbers, whose ideal hashes nobody asks for.
    pub(crate) fn known(hashes: Vec<Option<SwitchHash>>, headers: &[Header]) -> Self {
        Self { all: headers.iter().map(|&header| (header, 0)).collect(), ..Self::new(hashes, 0) }
    }

    /// Gives the connection with number `index` of a flow its headers, forth and back. `ideal` are the ideal hashes of their
    /// fields. Returns their numbers.
    pub(crate) fn open(
        &mut self,
        flow: &Flow,
        index: u8,
        transport: &Transport,
        ideal: [u32; 2],
    ) -> [u32; 2] {
        let count = self.connections.entry((flow.src, flow.dst)).or_default();
        let number = *count;
        *count = count.wrapping_add(1);
        let hosts = [flow.src, flow.dst];
        let is_roce = matches!(transport, Transport::Roce(_));
        let queue_pairs = is_roce.then(|| queue_pairs(self.salt, hosts, number));
        let given = match flow.ports.source {
            Some(port) => Some(port.get() + u16::from(index)),
            None => transport.queue_pairs().and_then(|pairs| pairs.source_ports.get(index)),
        };
        let source_port = given.unwrap_or_else(|| match queue_pairs {
            Some(numbers) => roce_source_port(numbers),
            None => dynamic_port(self.salt, hosts, number),
        });
        let receiver = queue_pairs.map_or(0, |[_, receiver]| receiver);
        let mut forth = Header::of(transport, hosts, source_port, receiver);
        forth.destination_port = flow.ports.destination.map_or(forth.destination_port, Into::into);
        let back = forth.back(queue_pairs.map(|[sender, _]| sender));
        let first = self.all.len() as u32;
        self.all.extend([(forth, ideal[0]), (back, ideal[1])]);
        [first, first + 1]
    }

    /// Header of a packet; pauses and messages of load balancers have none.
    pub(crate) fn of_packet(&self, packet: &Packet) -> Option<Header> {
        let has_none = packet.kind == Kind::Pause || packet.kind.is_probe();
        (!has_none).then(|| self.all[packet.entropy as usize].0)
    }

    /// Ideal hash of the fields of a header.
    pub(crate) fn ideal(&self, number: u32) -> u32 {
        self.all[number as usize].1
    }

    /// Hash by which a switch chooses for packets with a header.
    #[cold]
    #[inline(never)]
    pub(crate) fn hash(&self, number: u32, switch: u32, salt: u32) -> u32 {
        match &self.hashes[switch as usize] {
            Some(hash) => hash.of(&self.all[number as usize].0),
            None => selection_hash(self.ideal(number), salt),
        }
    }
}

/// Headers of the first `count` connections that a host opens to another, forth, each from all of `source_ports`.
#[must_use]
pub fn pair_headers<C>(
    settings: &Settings<C>,
    transport: &Transport,
    hosts: [u32; 2],
    count: u32,
    source_ports: RangeInclusive<u16>,
) -> Vec<Header> {
    let salt = salt(settings.seed);
    let of = |number| {
        let [_, receiver] = queue_pairs(salt, hosts, number);
        source_ports.clone().map(move |source_port| Header::of(transport, hosts, source_port, receiver))
    };
    (0..count).flat_map(of).collect()
}

/// Hash input of a run's ports and queue pairs.
fn salt(seed: u64) -> u32 {
    mix::finalise(mix::absorb(mix::finalise(seed as u32), (seed >> 32) as u32))
}

/// A start that is drawn for a connection's hosts, the one that opened it first, and a purpose.
fn start(salt: u32, [src, dst]: [u32; 2], purpose: u32) -> u32 {
    mix::finalise(mix::absorb(mix::absorb(salt ^ purpose, src), dst))
}

/// Port from which a host opens the connection with this number to another: RFC 6056's third algorithm, a start for each
/// pair of hosts and then one port after the other.
fn dynamic_port(salt: u32, hosts: [u32; 2], number: u32) -> u16 {
    DYNAMIC_PORTS | (start(salt, hosts, 0).wrapping_add(number) & DYNAMIC_PORTS_MASK) as u16
}

/// Numbers of a connection's queue pair at both hosts: a start for each pair of hosts and then one after the other, so that
/// no other hosts change them.
fn queue_pairs(salt: u32, hosts: [u32; 2], number: u32) -> [u32; 2] {
    [1, 2].map(|purpose| 2 + start(salt, hosts, purpose).wrapping_add(number) % QUEUE_PAIRS)
}

/// Source port of a queue pair, from its numbers at both hosts: Linux's `rdma_calc_flow_label` and
/// `rdma_flow_label_to_udp_sport` (`include/rdma/ib_verbs.h`), which all of its drivers use.
fn roce_source_port([sender, receiver]: [u32; 2]) -> u16 {
    let product = u64::from(sender) * u64::from(receiver);
    let folded = product ^ product >> 20;
    let label = (folded ^ folded >> 40) as u32 & 0xf_ffff;
    DYNAMIC_PORTS | ((label ^ label >> 14) as u16 & 0x3fff)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: 2 * 3 has no bits to fold; 0x100000 * 0x10 folds its bit 24 to 4, and from there nowhere.
    #[test]
    fn source_ports_of_roce_are_those_of_linux() {
        assert_eq!(roce_source_port([2, 3]), 0xc006);
        assert_eq!(roce_source_port([0x10_0000, 0x10]), 0xc010);
        // 0x8000 * 8 is bit 18, which the 14 bits of ports fold to 4.
        assert_eq!(roce_source_port([0x8000, 8]), 0xc010);
        assert_eq!(roce_source_port([8, 0x8000]), 0xc010);
    }

    #[test]
    fn ports_and_queue_pairs_count_from_their_start() {
        let ports: Vec<u16> = (0..3).map(|number| dynamic_port(5, [1, 2], number)).collect();
        assert!(ports.iter().all(|&port| port >= DYNAMIC_PORTS));
        let steps = ports.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]) & 0x3fff);
        assert!(steps.into_iter().all(|step| step == 1), "{ports:?}");
        assert_ne!(dynamic_port(5, [2, 1], 0), ports[0]);
        let [first, second] = [0, 1].map(|number| queue_pairs(5, [1, 2], number));
        assert_eq!(second, first.map(|number| number + 1));
        assert_ne!(first[0], first[1]);
        assert_ne!(queue_pairs(5, [1, 3], 0), first);
    }
}
