//! A fabric cut into parts that run at once, each on a thread of its own.
//!
//! An event in one part reaches another only by a link that crosses, and no sooner than the link's delay and the time of the
//! shortest frame: the look-ahead (Chandy and Misra, 1979). So all parts may run up to the next event of all and the least
//! look-ahead before they meet again.

use crate::transport::Transport;
use crate::{Framing, Settings, waits};
use anabranch_fabric::{Change, Fabric, Port, What};
use anabranch_traffic::FlowSource;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Part of a port's other end where that is the part of its node.
const SAME: u32 = u32::MAX;

/// Shortest frame of a load balancer's message, in bytes: the parts of a run count on none that is shorter.
pub const PROBE_BYTES_MIN: u16 = 64;

/// Which part each node is in, and which links cross.
#[derive(Debug)]
pub(crate) struct Cut {
    part_of: Vec<u32>,
    /// Part of each port's node.
    part_of_port: Vec<u32>,
    /// Part at the other end of each port's link, or [`SAME`].
    towards: Vec<u32>,
    parts: usize,
    lookahead_ps: u64,
    delivery_ps: u64,
}

impl Cut {
    /// Cut of a fabric into these parts, by node, for a run of these flows with these settings.
    pub(crate) fn of<C>(
        fabric: &Fabric,
        part_of: Vec<u32>,
        (flows, settings): (&dyn FlowSource, &Settings<C>),
    ) -> Self {
        let announces = waits::cross(flows, settings, &part_of);
        let frames = (settings.framing, shortest_bytes(settings));
        let cut = Self::new(fabric, part_of, frames, &settings.changes);
        if !announces {
            return cut;
        }
        // A delivery is announced while its last packet is on the link to its host.
        let to_host = fabric.ports().iter().filter(|port| port.to < fabric.hosts());
        let last_ps = to_host.map(|port| port.delay_ps).min().unwrap_or(u64::MAX);
        Self { lookahead_ps: cut.lookahead_ps.min(last_ps), ..cut }
    }

    /// Cut of a fabric into these parts, by node. `shortest_bytes`: the shortest frame.
    pub(crate) fn new(
        fabric: &Fabric,
        part_of: Vec<u32>,
        (framing, shortest_bytes): (Framing, u16),
        changes: &[Change],
    ) -> Self {
        let parts = part_of.iter().max().map_or(1, |&last| last as usize + 1);
        let ports = fabric.ports();
        let part = |node: u32| part_of[node as usize];
        let towards: Vec<u32> = ports
            .iter()
            .map(|port| if part(port.from) == part(port.to) { SAME } else { part(port.to) })
            .collect();
        let retimed = |port: u32| {
            changes.iter().any(|change| matches!(change.what, What::PortRate(at, _) if at == port))
        };
        let wire_bytes = u32::from(shortest_bytes) + u32::from(framing.gap_bytes);
        let lookahead_ps = (0u32..)
            .zip(ports)
            .filter(|&(index, _)| towards[index as usize] != SAME)
            .map(|(index, port)| {
                let serialization = port.rate.serialization().rounded(framing.whole_ns);
                // With classes a packet may be marked until its last bit is sent: only then is it posted.
                let is_late = retimed(index) || fabric.switches().is_some();
                let frame_ps = if is_late { 0 } else { serialization.frame_ps(wire_bytes) };
                port.delay_ps + frame_ps
            })
            .min()
            .unwrap_or(u64::MAX);
        let part_of_port = ports.iter().map(|port| part(port.from)).collect();
        let delivery_ps = delivery_ps(fabric);
        Self { part_of, part_of_port, towards, parts, lookahead_ps, delivery_ps }
    }

    /// Number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// Least time in picoseconds from an event in one part to the first that it causes in another.
    pub(crate) fn lookahead_ps(&self) -> u64 {
        self.lookahead_ps
    }

    /// Least time in picoseconds from the beginning of a flow to its delivery: two links of hosts delay it.
    pub(crate) fn delivery_ps(&self) -> u64 {
        self.delivery_ps
    }

    /// Least time in picoseconds from a host of the same fabric to one of another part.
    pub(crate) fn apart_ps(&self, fabric: &Fabric) -> u64 {
        apart_ps(fabric, &self.part_of, self.parts)
    }

    /// Part of a node.
    #[inline(always)]
    pub(crate) fn part_of(&self, node: u32) -> u32 {
        self.part_of[node as usize]
    }

    /// Part of the node whose port it is.
    pub(crate) fn part_of_port(&self, port: u32) -> u32 {
        self.part_of_port[port as usize]
    }

    /// Part to which a port's link crosses, if it does.
    #[inline(always)]
    pub(crate) fn crosses_to(&self, port: u32) -> Option<u32> {
        let towards = self.towards[port as usize];
        (towards != SAME).then_some(towards)
    }
}

/// Shortest frame of a run: answers of RoCE and UEC are as long as their settings say, and load balancers' messages are not
/// padded.
fn shortest_bytes<C>(settings: &Settings<C>) -> u16 {
    let answer_bytes = |transport: &Transport| match transport {
        Transport::Roce(roce) => roce.answer_bytes,
        Transport::Uec(uec) => uec.answer_bytes,
        _ => u16::MAX,
    };
    let answers = settings.transports.iter().map(answer_bytes);
    answers.chain([settings.framing.frame_bytes_min, PROBE_BYTES_MIN]).min().unwrap_or(0)
}

/// Least delay of a path between two hosts, by its first and its last link.
fn delivery_ps(fabric: &Fabric) -> u64 {
    let hosts = fabric.hosts();
    let least_ps = |of: &dyn Fn(&Port) -> bool| {
        fabric.ports().iter().filter(|port| of(port)).map(|port| port.delay_ps).min()
    };
    let direct_ps = least_ps(&|port| port.from < hosts && port.to < hosts);
    let through_switches_ps =
        least_ps(&|port| port.from < hosts).unwrap_or(0) + least_ps(&|port| port.to < hosts).unwrap_or(0);
    direct_ps.unwrap_or(through_switches_ps)
}

/// Least delay of a path between two hosts of different parts (Dijkstra, from all hosts of a part at once).
fn apart_ps(fabric: &Fabric, part_of: &[u32], parts: usize) -> u64 {
    let hosts = fabric.hosts();
    let from = |part: u32| {
        let is_here = |node: u32| part_of[node as usize] == part;
        let mut least = vec![u64::MAX; fabric.nodes().len()];
        let mut next: BinaryHeap<Reverse<(u64, u32)>> =
            (0..hosts).filter(|&host| is_here(host)).map(|host| Reverse((0, host))).collect();
        while let Some(Reverse((delay_ps, node))) = next.pop() {
            if node < hosts && !is_here(node) {
                return delay_ps;
            }
            if delay_ps >= least[node as usize] {
                continue;
            }
            least[node as usize] = delay_ps;
            let ports = fabric.ports_of(node).iter().map(|&port| &fabric.ports()[port as usize]);
            next.extend(ports.map(|port| Reverse((delay_ps + port.delay_ps, port.to))));
        }
        u64::MAX
    };
    (0..parts as u32).map(from).min().unwrap_or(u64::MAX)
}
