//! The simulator: every packet over every hop of a fabric.
//!
//! One event per packet and hop. The order of events is total and written down: by time in picoseconds, then control
//! before timers before network cards before ports, then by the timer's flow or connection, the card's host, or the
//! port's place in an order that is drawn from the seed. Same fabric, flows and settings give the same outcome, to the
//! bit.

mod assembly;
mod balancer;
mod card;
mod check;
mod connections;
mod control;
mod edge;
mod error;
mod forwarding;
mod hosts;
mod jobs;
mod lots;
mod needs;
mod network;
mod nic;
mod outcome;
mod own_scheme;
mod packet;
mod path_book;
mod picker;
mod pinning;
mod port;
mod progress;
mod queue;
mod settings;
mod simulation;
mod slab;
mod timers;
pub mod transport;
mod weigher;

pub use assembly::simulate;
pub use balancer::Planned;
pub use error::SimulationError;
pub use needs::needs;
pub use network::horizon_ps;
pub use nic::{Nic, Queueing};
pub use outcome::{CapturedPacket, FlowRecord, Outcome, PortRecord, QueueSample, Totals, WindowSample};
pub use own_scheme::{simulate_picked, simulate_weighed, simulate_with};
pub use packet::{Kind, Packet, SackBlock, marks};
pub use picker::{PickedPacket, Picker, View};
pub use progress::Progress;
pub use settings::{Framing, Observe, Settings};
pub use simulation::salt;
pub use weigher::{MemberStats, WeighedGroup, Weigher};
