//! Traffic: sources of packets and connections.

mod capture_flows;
mod connections;
mod csv_rows;
mod flow;
mod flow_list;
pub mod generate;
mod header;
mod host_flow_list;
pub mod load;
mod merge;
mod offered;
mod packet;
mod pattern;
pub mod random;
mod replay;
pub mod sizes;
mod source;
pub mod trace;
mod traffic_error;
pub mod workload;

pub use capture_flows::{CaptureFlows, capture_flows};
pub use connections::{Connections, Direction};
pub use csv_rows::CsvError;
pub use flow::{Flow, Start};
pub use flow_list::FlowListReader;
pub use host_flow_list::{read_host_flows, write_host_flows};
pub use merge::merged_flows;
pub use offered::{TierLoad, arrival_window_ps, offered};
pub use packet::PacketRecord;
pub use pattern::Pattern;
pub use replay::{Carried, PickBatch, Replay};
pub use source::{Source, SourceError};
pub use traffic_error::TrafficError;
pub use workload::{PlacedWork, Workload};
