//! Where packets come from: a capture or a flow list, told by its name, or a generator.

use crate::generate::{GenerateError, Generator, Kind};
use crate::trace::{Compression, Counted, Encapsulation, TraceCounts, TraceError, TraceReader};
use crate::{CsvError, FlowListReader, PacketRecord};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a source cannot be read (any further).
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A capture's.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A flow list's.
    #[error(transparent)]
    FlowList(#[from] CsvError),
    /// A generator's.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// Nothing to split.
    #[error(
        "{file}: no IP packet among {packets}; give a capture of IPv4 or IPv6 traffic, or a flow list whose name \
         ends in .csv"
    )]
    NoIpPacket {
        /// Where from.
        file: String,
        /// Packets or rows that were read.
        packets: u64,
    },
    /// Nothing to split, because the snap length left no ports.
    #[error(
        "{file}: no ports in {truncated} of {packets} packets: the snap length cut them off, and no other packet has a \
         5-tuple; capture again with 96 bytes of each packet or more, as in `tcpdump -s 96`"
    )]
    NoPorts {
        /// Where from.
        file: String,
        /// Packets that were read.
        packets: u64,
        /// Those whose headers were cut.
        truncated: u64,
    },
}

impl SourceError {
    /// The error for a source that gave no record.
    #[must_use]
    pub fn nothing(file: String, counts: &TraceCounts) -> Self {
        let packets = counts.packets;
        match counts.truncated_headers {
            0 => Self::NoIpPacket { file, packets },
            truncated => Self::NoPorts { file, packets, truncated },
        }
    }

    /// Whether what was read before the error is good: see [`TraceError::is_damage`].
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Trace(error) if error.is_damage())
    }
}

/// A stream of packets.
pub enum Source {
    /// A capture.
    Capture(TraceReader),
    /// A flow list.
    FlowList {
        /// Its rows.
        reader: FlowListReader,
        /// Rows read.
        rows: u64,
        /// Bytes read of the file, compressed as it is.
        bytes_read: Arc<AtomicU64>,
        /// Bytes of the file.
        total_bytes: u64,
    },
    /// A generator.
    Generator {
        /// Makes packets.
        made: Box<Generator>,
        /// Packets made.
        packets: u64,
    },
}

impl Source {
    /// Opens what stands at `path`: a flow list if its name ends in `.csv`, `.csv.gz` or `.csv.zst`, a capture if
    /// not; `-` is a capture on standard input.
    ///
    /// # Errors
    /// What cannot be opened, and what is neither.
    pub fn open(path: &Path, encapsulation: Encapsulation) -> Result<Self, SourceError> {
        let file = path.display().to_string();
        let name = file.to_ascii_lowercase();
        if ![".csv", ".csv.gz", ".csv.zst"].iter().any(|end| name.ends_with(end)) {
            return Ok(Self::Capture(TraceReader::open(path, encapsulation)?));
        }
        let opened = File::open(path).and_then(|input| Ok((input.metadata()?.len(), input)));
        let (total_bytes, input) =
            opened.map_err(|source| TraceError::Open { file: file.clone(), source })?;
        let bytes_read = Arc::new(AtomicU64::new(0));
        let counted = Box::new(Counted { input, bytes: Arc::clone(&bytes_read) });
        let (_, rows) = Compression::detect(counted).map_err(|source| TraceError::Read {
            file: file.clone(),
            offset: 0,
            source,
        })?;
        let reader = FlowListReader::new(rows, &file)?;
        Ok(Self::FlowList { reader, rows: 0, bytes_read, total_bytes })
    }

    /// Makes traffic of `connections` connections.
    ///
    /// # Errors
    /// A kind that there is not, or a number of connections that it cannot give.
    pub fn generate(kind: &str, connections: u64, seed: u64) -> Result<Self, SourceError> {
        let made = Box::new(Generator::new(Kind::parse(kind)?, connections, seed)?);
        Ok(Self::Generator { made, packets: 0 })
    }

    /// Replaces `records` by the next ones, of `limit` packets or rows at most; false at the end.
    ///
    /// # Errors
    /// Damage, after all records before it were returned.
    pub fn next_batch(&mut self, records: &mut Vec<PacketRecord>, limit: usize) -> Result<bool, SourceError> {
        Ok(match self {
            Self::Capture(reader) => reader.next_batch(records, limit)?,
            Self::FlowList { reader, rows, .. } => {
                let more = reader.next_batch(records, limit)?;
                *rows += records.len() as u64;
                more
            }
            Self::Generator { made, packets } => {
                let more = made.next_batch(records, limit);
                *packets += records.len() as u64;
                more
            }
        })
    }

    /// What was read so far. Every row of a flow list counts as a packet.
    #[must_use]
    pub fn counts(&self) -> TraceCounts {
        match self {
            Self::Capture(reader) => reader.counts().clone(),
            Self::FlowList { rows: packets, .. } | Self::Generator { packets, .. } => {
                TraceCounts { packets: *packets, ip_packets: *packets, ..TraceCounts::default() }
            }
        }
    }

    /// Bytes read of the file, and how many there are, where known; of a generator, packets.
    #[must_use]
    pub fn progress(&self) -> (u64, Option<u64>) {
        match self {
            Self::Capture(reader) => reader.progress(),
            Self::FlowList { bytes_read, total_bytes, .. } => {
                (bytes_read.load(Ordering::Relaxed), Some(*total_bytes))
            }
            Self::Generator { packets, .. } => (*packets, None),
        }
    }
}
