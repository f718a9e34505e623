//! Traffic: where packets and connections come from.

mod connections;
mod flow_list;
pub mod generate;
mod header;
mod packet;
mod replay;
mod source;
pub mod trace;

pub use connections::{Connections, Direction};
pub use flow_list::{FlowListError, FlowListReader};
pub use packet::PacketRecord;
pub use replay::{Carried, Replay};
pub use source::{Source, SourceError};
