//! The simulator: every packet over every hop of a fabric.
//!
//! One event per packet and hop. The order of events is total and written down: by time in picoseconds, then control
//! before timers before network cards before ports, then by the timer's flow or connection, the card's host, or the
//! port's rank in an order that is drawn from the seed. Same fabric, flows and settings give the same outcome, to the
//! bit.

mod card;
mod check;
mod classed;
mod connections;
mod control;
mod cut;
mod door;
mod driver;
mod error;
mod flow_record;
mod forwarding;
mod framing;
mod header;
mod headers;
mod hosts;
mod huge_pages;
mod jobs;
mod lots;
mod meeting;
mod network;
mod nic;
mod outcome;
mod packet;
mod pair;
mod partition;
mod pausing;
mod pinning;
mod port;
mod progress;
mod queue;
mod replay;
mod settings;
mod simulation;
mod slab;
mod sync;
mod telemetry;
#[cfg(test)]
mod tests;
mod threads;
mod timers;
pub mod transport;
mod waits;
mod walk;

pub use check::{check, check_flow};
pub use classed::check_switches;
pub use connections::connection_slot;
pub use cut::PROBE_BYTES_MIN;
pub use door::{Choice, GroupPlan, HostBalancer, Junction, Opened, Route, SwitchBalancer};
pub use driver::{Driven, Driver, MessageEnd, Until};
pub use error::SimulationError;
pub use flow_record::{FlowCount, FlowRecord};
pub use framing::Framing;
pub use header::{Field, Fields, Header, SwitchHash, address};
pub use headers::pair_headers;
pub use huge_pages::HugePages;
pub use network::{Address, Network, horizon_ps};
pub use nic::{Nic, Queueing};
pub use outcome::{
    CapturedPacket, EventKind, FlowSink, Outcome, PacketEvent, PortRecord, QueueSample, Totals, WindowSample,
    WorkRecord,
};
pub use packet::{Arrivals, Class, Kind, Packet, SackBlock, marks};
pub use partition::{AnySwitches, Partition, PartitionedHosts, PartitionedSwitches};
pub use progress::Progress;
pub use replay::{Replay, ReplayRecord, ReplaySample};
pub use settings::{Observe, Settings, Window};
pub use simulation::{Balancers, Simulation, salt, simulate_in_parts};
pub use slab::PacketId;
pub use threads::{lookahead_ps, one_thread};
pub use transport::{Carrier, MessagePosition};
pub use walk::walk;
