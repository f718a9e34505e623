//! Captures as a stream of packets: pcap and pcapng, plain, gzip or zstd.

mod byte_order;
mod compression;
mod counts;
mod error;
mod frame;
mod interface;
mod pcap;
mod pcapng;
mod reader;
mod unrecognised;
mod window;

pub use crate::header::Encapsulation;
pub(crate) use compression::{Compression, Counted};
pub use counts::TraceCounts;
pub use error::TraceError;
pub use reader::TraceReader;
