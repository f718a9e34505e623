//! Small PLB: a sender whose packets come back marked, round trip after round trip, gives its flow another entropy.
//!
//! It uses the door of hosts, [`HostBalancer`], beside the tables of the switches, and nothing that a crate outside the
//! tree could not use.

use anabranch_balancers::{Build, Decider, DefaultWeights, Descriptor, LoadBalancer, Runs, Scheme, Task};
use anabranch_sim::{Address, HostBalancer, Kind, Network, Opened, Outcome, Packet, SimulationError, marks};
use anabranch_split::capability;
use anabranch_split::picks::mix;
use std::collections::BTreeMap;

/// Registry entry, so that results and messages can name it.
static SMALL_PLB: Descriptor = Descriptor {
    name: "small-plb",
    granularity: "flow",
    decider: Decider::Hosts,
    page: "# Small PLB\n\nFlows leave paths that keep marking them.\n",
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(SmallPlb::default())),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

/// Parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SmallPlb {
    /// Congested round trips in a row after which a flow moves.
    rounds: u32,
    /// Part of the bytes of a round trip that is marked if it is congested, in percent.
    marked_percent: u64,
}

impl Default for SmallPlb {
    fn default() -> Self {
        Self { rounds: 2, marked_percent: 5 }
    }
}

impl LoadBalancer for SmallPlb {
    fn descriptor(&self) -> &'static Descriptor {
        &SMALL_PLB
    }

    fn needs(&self) -> u32 {
        capability::FEEDBACK
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let hosts = || Hosts { parameters: self.clone(), flows: BTreeMap::new(), moves: 0 };
        task.by_tables(Some(&mut || Ok(Box::new(hosts()))))
    }
}

/// State of one flow at its sender.
#[derive(Default)]
struct Flow {
    /// Changes the entropy of its packets; zero leaves it as it is.
    label: u32,
    /// First byte that was never sent, and first one that is not acknowledged.
    next: u64,
    acknowledged: u64,
    /// Byte whose acknowledgement ends the round trip.
    round_end: u64,
    /// Bytes acknowledged in this round trip, and those of them that were marked.
    bytes: u64,
    marked: u64,
    /// Congested round trips in a row.
    congested: u32,
}

impl Flow {
    fn move_on(&mut self) {
        self.label += 1;
        self.congested = 0;
    }
}

/// All hosts of a fabric.
struct Hosts {
    parameters: SmallPlb,
    /// By connection.
    flows: BTreeMap<u32, Flow>,
    moves: u64,
}

impl HostBalancer for Hosts {
    /// A connection that carries several flows keeps its state.
    fn opened(&mut self, host: u32, flow: &Opened, _network: &mut Network) {
        if flow.fresh && host == flow.src {
            self.flows.insert(flow.connection, Flow::default());
        }
    }

    /// Packets of the sender get the entropy of the flow's label; what the receiver sends back is left alone.
    fn send(&mut self, from: &Address, packet: &mut Packet, _network: &mut Network) {
        let Some(flow) = self.flows.get_mut(&packet.connection) else { return };
        if matches!(packet.kind, Kind::Ack | Kind::SynAck) {
            return;
        }
        flow.next = flow.next.max(packet.seq + u64::from(packet.payload_bytes));
        if flow.label > 0 {
            packet.entropy = mix::finalise(mix::absorb(from.entropy, flow.label));
        }
    }

    /// An acknowledgement says how many bytes arrived, and by its ECN echo whether they were marked.
    fn receive(&mut self, _host: u32, packet: &mut Packet, _network: &mut Network) {
        let Some(flow) = self.flows.get_mut(&packet.connection) else { return };
        if packet.kind != Kind::Ack {
            return;
        }
        let bytes = packet.seq.saturating_sub(flow.acknowledged);
        flow.acknowledged += bytes;
        flow.bytes += bytes;
        flow.marked += if packet.marks & marks::ECHO != 0 { bytes } else { 0 };
        if flow.acknowledged < flow.round_end {
            return;
        }
        flow.congested =
            if flow.marked > 0 && flow.marked * 100 >= flow.bytes * self.parameters.marked_percent {
                flow.congested + 1
            } else {
                0
            };
        (flow.round_end, flow.bytes, flow.marked) = (flow.next, 0, 0);
        if flow.congested >= self.parameters.rounds {
            flow.move_on();
            self.moves += 1;
        }
    }

    /// A timeout moves a flow at once: its path may be dead.
    fn timed_out(&mut self, from: &Address, _network: &mut Network) {
        if let Some(flow) = self.flows.get_mut(&from.connection) {
            flow.move_on();
            self.moves += 1;
        }
    }

    fn closed(&mut self, _host: u32, connection: u32) {
        self.flows.remove(&connection);
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("moves of flows", self.moves)]
    }
}
