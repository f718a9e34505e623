//! Sources of packets: a capture, a flow list, or a generator.

use crate::generate::{GenerateError, Generator, Kind};
use crate::trace::{Compression, Counted, Encapsulation, TraceCounts, TraceError, TraceReader};
use crate::{CsvError, FlowListReader, PacketRecord};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Name of standard input in errors.
const STANDARD_INPUT: &str = "standard input";
/// Bytes that say whether input is text: those of a snoop capture and of bzip2 data begin with letters.
const BEGIN_BYTES: u64 = 32;

/// Reason why a source cannot be read, or not any further.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Error in a capture.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Error in a flow list.
    #[error(transparent)]
    FlowList(#[from] CsvError),
    /// Error of a generator.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The source has no IP packet.
    #[error(
        "{file}: no IP packet among {packets}; give a capture of IPv4 or IPv6 traffic, or a flow list whose name \
         ends in .csv"
    )]
    NoIpPacket {
        /// File, as the user named it.
        file: String,
        /// Number of packets or rows that were read.
        packets: u64,
    },
    /// No packet has ports, because the snap length cut them off.
    #[error(
        "{file}: no ports in {truncated} of {packets} packets: the snap length cut them off, and no other packet has a \
         5-tuple; capture again with 96 bytes of each packet or more, as in `tcpdump -s 96`"
    )]
    NoPorts {
        /// File, as the user named it.
        file: String,
        /// Number of packets that were read.
        packets: u64,
        /// Number of packets whose headers were cut.
        truncated: u64,
    },
}

impl SourceError {
    /// Makes the error for a source that gave no record.
    #[must_use]
    pub fn nothing(file: String, counts: &TraceCounts) -> Self {
        let packets = counts.packets;
        match counts.truncated_headers {
            0 => Self::NoIpPacket { file, packets },
            truncated => Self::NoPorts { file, packets, truncated },
        }
    }

    /// Whether the records before the error are good: see [`TraceError::is_damage`].
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Trace(error) if error.is_damage())
    }
}

/// Stream of packets.
pub enum Source {
    /// Packets of a capture.
    Capture(TraceReader),
    /// Rows of a flow list.
    FlowList {
        /// Reader of the rows.
        reader: FlowListReader,
        /// Number of rows read.
        rows: u64,
        /// Number of bytes read of the file, compressed as it is.
        bytes_read: Arc<AtomicU64>,
        /// Size of the file in bytes, if it is known.
        total_bytes: Option<u64>,
    },
    /// Packets that are generated.
    Generator {
        /// Generator of the packets.
        made: Box<Generator>,
        /// Number of packets generated.
        packets: u64,
    },
}

impl Source {
    /// Opens the file at `path`: a flow list if its name ends in `.csv`, `.csv.gz` or `.csv.zst`, a capture if not; `-`
    /// is standard input, which is a flow list if it begins with text.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or is neither.
    pub fn open(path: &Path, encapsulation: Encapsulation) -> Result<Self, SourceError> {
        if path.as_os_str() == "-" {
            return Self::read(STANDARD_INPUT.to_owned(), Box::new(io::stdin()), encapsulation);
        }
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
        Ok(Self::FlowList { reader, rows: 0, bytes_read, total_bytes: Some(total_bytes) })
    }

    /// Reads a flow list from `input` if it begins with text, and a capture if not; errors call it `file`.
    ///
    /// # Errors
    /// Fails if it is neither.
    pub fn read(
        file: String,
        input: Box<dyn Read + Send>,
        encapsulation: Encapsulation,
    ) -> Result<Self, SourceError> {
        let failed = |source| TraceError::Read { file: file.clone(), offset: 0, source };
        let bytes_read = Arc::new(AtomicU64::new(0));
        let counted = Box::new(Counted { input, bytes: Arc::clone(&bytes_read) });
        let (compression, mut input) = Compression::detect(counted).map_err(failed)?;
        let mut begin = Vec::new();
        if let Err(source) = input.by_ref().take(BEGIN_BYTES).read_to_end(&mut begin) {
            return Err(compression.error(file, 0, source).into());
        }
        let is_text = is_text(&begin);
        let input: Box<dyn Read + Send> = Box::new(Cursor::new(begin).chain(input));
        if is_text {
            let reader = FlowListReader::new(input, &file)?;
            return Ok(Self::FlowList { reader, rows: 0, bytes_read, total_bytes: None });
        }
        let opened = (compression, input);
        Ok(Self::Capture(TraceReader::uncompressed(file, opened, (bytes_read, None), encapsulation)?))
    }

    /// Generates traffic of `connections` connections.
    ///
    /// # Errors
    /// Refuses an unknown kind, and a number of connections that the kind cannot give.
    pub fn generate(kind: &str, connections: u64, seed: u64) -> Result<Self, SourceError> {
        let made = Box::new(Generator::new(Kind::parse(kind)?, connections, seed)?);
        Ok(Self::Generator { made, packets: 0 })
    }

    /// Replaces `records` by the next ones, of `limit` packets or rows at most; returns false at the end.
    ///
    /// # Errors
    /// Reports damage after all records before it were returned.
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

    /// Counts of the packets read so far. Every row of a flow list counts as a packet.
    #[must_use]
    pub fn counts(&self) -> TraceCounts {
        match self {
            Self::Capture(reader) => reader.counts().clone(),
            Self::FlowList { rows: packets, .. } | Self::Generator { packets, .. } => {
                TraceCounts { packets: *packets, ip_packets: *packets, ..TraceCounts::default() }
            }
        }
    }

    /// Bytes read so far, and their total if it is known; packets for a generator.
    #[must_use]
    pub fn progress(&self) -> (u64, Option<u64>) {
        match self {
            Self::Capture(reader) => reader.progress(),
            Self::FlowList { bytes_read, total_bytes, .. } => {
                (bytes_read.load(Ordering::Relaxed), *total_bytes)
            }
            Self::Generator { packets, .. } => (*packets, None),
        }
    }
}

/// Whether input begins with text, which may be cut within a letter: captures begin with bytes that are none.
fn is_text(begin: &[u8]) -> bool {
    let text = match std::str::from_utf8(begin) {
        Err(error) if error.error_len().is_some() => return false,
        Err(error) => String::from_utf8_lossy(&begin[..error.valid_up_to()]),
        Ok(text) => text.into(),
    };
    !text.is_empty() && text.chars().all(|letter| !letter.is_control() || "\n\r\t".contains(letter))
}
