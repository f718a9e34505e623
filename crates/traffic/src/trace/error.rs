//! Why a capture cannot be read (any further).

use crate::header::LinkType;
use std::io;

/// What is wrong, in which file, at which byte, and the mend. Offsets count bytes of the uncompressed capture.
/// Packets returned before the error are good.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{file}: cannot be opened: {source}; give the path of a capture, or - for standard input")]
    Open {
        /// The path as given.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The system failed while reading.
    #[error("{file}: cannot be read at byte {offset}: {source}; mend that and start again")]
    Read {
        /// Where from.
        file: String,
        /// First byte that is missing.
        offset: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The compressed data around the capture is damaged.
    #[error(
        "{file}: the {compression} data is damaged or cut short behind byte {offset} of the capture: {source}; copy \
         or compress it again, `{compression} --test` tells whether a copy is good"
    )]
    Compression {
        /// Where from.
        file: String,
        /// `gzip` or `zstd`.
        compression: &'static str,
        /// Bytes that came out before.
        offset: u64,
        /// The decompressor's reason.
        source: io::Error,
    },
    /// Something else follows the gzip data around the capture.
    #[error(
        "{file}: other bytes follow the gzip data, which holds {offset} bytes of capture and is whole; the packets are \
         good, write it anew with `zcat` to be rid of the rest"
    )]
    Trailing {
        /// Where from.
        file: String,
        /// Bytes of the capture.
        offset: u64,
    },
    /// Neither pcap nor pcapng.
    #[error(
        "{file}: not a capture: {found}; pcap and pcapng are read, plain or compressed with gzip or zstd{mend}"
    )]
    NotACapture {
        /// Where from.
        file: String,
        /// What the first bytes look like.
        found: String,
        /// How to make a capture of it, where that is known; empty or starting with a colon.
        mend: &'static str,
    },
    /// A version of the format that nobody defined, or that has long been abandoned.
    #[error("{file}: byte {offset}: {format} version {major}.{minor} is not read, {read} is; {mend}")]
    Version {
        /// Where from.
        file: String,
        /// Where the version stands.
        offset: u64,
        /// `pcap` or `pcapng`.
        format: &'static str,
        /// Major version found.
        major: u16,
        /// Minor version found.
        minor: u16,
        /// Versions that are read.
        read: &'static str,
        /// What to do.
        mend: &'static str,
    },
    /// Packets of a link whose headers are not read.
    #[error("{file}: byte {offset}: link type {number} is not read, only {}; {mend}", LinkType::READ)]
    LinkTypeUnknown {
        /// Where from.
        file: String,
        /// Where the link type stands, or the first packet that has it.
        offset: u64,
        /// Number in the tcpdump.org registry of link types.
        number: u16,
        /// What to do.
        mend: String,
    },
    /// The file ends inside a record.
    #[error(
        "{file}: cut at byte {end}, in the middle of the {record} that starts at byte {offset}: the packets before \
         it are good; copy or capture it again for the rest"
    )]
    Cut {
        /// Where from.
        file: String,
        /// First byte of the record.
        offset: u64,
        /// Bytes there are.
        end: u64,
        /// The kind of record.
        record: &'static str,
    },
    /// A length or number that cannot be true: the file is damaged from here on.
    #[error(
        "{file}: byte {offset}: {problem}: the file is damaged here, the packets before are good; copy or capture it \
         again"
    )]
    Damaged {
        /// Where from.
        file: String,
        /// First byte of the record.
        offset: u64,
        /// The field, its value, and what it contradicts.
        problem: String,
    },
}

impl TraceError {
    /// Whether the file is damaged or cut here, which makes the packets before no worse; not if nothing of it is a
    /// capture, or the system failed.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Compression { .. } | Self::Trailing { .. } | Self::Cut { .. } | Self::Damaged { .. }
        )
    }
}
