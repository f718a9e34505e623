//! Wino in hosts: packets are marked with slices in turn.

use crate::hosts::host_env::HostStreams;
use crate::wino::pick::{FlowMarking, Parameters, RoundRobin, label};
use crate::wino::switch::SliceCounts;
use anabranch_fabric::{Fabric, LinkState, NextHops};
use anabranch_sim::{Address, HostBalancer, Network, Packet};
use anabranch_split::picks::flow_cycle::Start;
use anabranch_split::picks::{Cycle, FlowTable, flow_cycle, uniform};
use anabranch_split::{Env, picks};

/// Marking at all hosts.
pub(crate) struct WinoHosts {
    parameters: Parameters,
    /// Slices of each pair of leaves.
    counts: SliceCounts,
    /// Leaf of each host, as destinations are numbered.
    leaf_of: Vec<u32>,
    leaves: u32,
    /// Slices by number: the turns of a pair are the first so many.
    numbers: Vec<u16>,
    /// Turns of flows, each direction of a connection being one.
    flows: FlowTable<flow_cycle::Counter>,
    /// Turns by host and destination's leaf.
    hosts: Vec<u32>,
    streams: HostStreams,
}

impl WinoHosts {
    pub(crate) fn new(parameters: Parameters, counts: SliceCounts, fabric: &Fabric, seed: u64) -> Self {
        let leaves = NextHops::shortest(fabric, &LinkState::of(fabric)).leaves;
        let number = |host| leaves.binary_search(&fabric.leaf_of(host)).unwrap_or(0) as u32;
        Self {
            parameters,
            counts,
            leaf_of: (0..fabric.hosts()).map(number).collect(),
            leaves: leaves.len() as u32,
            numbers: Vec::new(),
            flows: FlowTable::default(),
            hosts: vec![0; fabric.hosts() as usize * leaves.len()],
            streams: HostStreams::new(fabric.hosts(), seed),
        }
    }
}

impl HostBalancer for WinoHosts {
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        let (near, far) = (self.leaf_of[from.host as usize], self.leaf_of[from.destination as usize]);
        let slices = self.counts[(near * self.leaves + far) as usize].get();
        if near == far || slices == 0 {
            return;
        }
        self.numbers.extend(self.numbers.len() as u16..slices);
        let turns = &self.numbers[..usize::from(slices)];
        let flow = u64::from(from.connection) << 32 | u64::from(from.entropy);
        let mut asked = picks::Packet { flow, bytes: packet.frame_bytes.into(), ..picks::Packet::default() };
        let mut env = self.streams.at(from.host, network);
        let slice = match self.parameters.round_robin {
            RoundRobin::Flow => {
                let idle_ns = self.parameters.idle_ns;
                let plan = flow_cycle::Plan { turns, start: Start::Random, idle_ns };
                picks::pick::<FlowMarking<&[u16], _>, _>(&plan, &mut self.flows, &mut asked, &mut env)
            }
            RoundRobin::Host => {
                let turn = &mut self.hosts[(from.host * self.leaves + far) as usize];
                picks::pick::<Cycle, _>(turns, turn, &mut asked, &mut env)
            }
            RoundRobin::Drawn => turns[uniform::index(env.random_u32(), turns.len())],
        };
        packet.tag = label(slice);
    }
}
