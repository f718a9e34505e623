//! Errors of reading a capture.

use crate::header::LinkType;
use std::io;

/// Error in a capture: the file, the byte, what is wrong, and a hint. Offsets count bytes of the uncompressed capture.
/// Packets returned before the error are good.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("{file}: cannot be opened: {source}; give the path of a capture, or - for standard input")]
    Open {
        /// Path as given.
        file: String,
        /// Reason given by the operating system.
        source: io::Error,
    },
    /// The operating system failed while reading.
    #[error("{file}: cannot be read at byte {offset}: {source}; fix that and start again")]
    Read {
        /// File, as the user named it.
        file: String,
        /// Offset of the first byte that is missing.
        offset: u64,
        /// Reason given by the operating system.
        source: io::Error,
    },
    /// The compressed data around the capture is damaged.
    #[error(
        "{file}: the {compression} data is damaged or cut short behind byte {offset} of the capture: {source}; copy \
         or compress it again, `{compression} --test` tells whether a copy is good"
    )]
    Compression {
        /// File, as the user named it.
        file: String,
        /// `gzip` or `zstd`.
        compression: &'static str,
        /// Number of bytes that came out before.
        offset: u64,
        /// Reason given by the decompressor.
        source: io::Error,
    },
    /// Other bytes follow the gzip data around the capture.
    #[error(
        "{file}: other bytes follow the gzip data, which holds {offset} bytes of capture and is whole; the packets are \
         good, write it anew with `zcat` to be rid of the rest"
    )]
    Trailing {
        /// File, as the user named it.
        file: String,
        /// Number of bytes of the capture.
        offset: u64,
    },
    /// The input is neither pcap nor pcapng.
    #[error(
        "{file}: not a capture: {found}; pcap and pcapng are read, plain or compressed with gzip or zstd{hint}"
    )]
    NotACapture {
        /// File, as the user named it.
        file: String,
        /// Description of the first bytes.
        found: String,
        /// Command that makes a capture of it, if one is known; empty or starting with a colon.
        hint: &'static str,
    },
    /// The format has a version that nobody defined, or that has long been abandoned.
    #[error("{file}: byte {offset}: {format} version {major}.{minor} is not read, {read} is; {hint}")]
    Version {
        /// File, as the user named it.
        file: String,
        /// Offset of the version.
        offset: u64,
        /// `pcap` or `pcapng`.
        format: &'static str,
        /// Major version of the file.
        major: u16,
        /// Minor version of the file.
        minor: u16,
        /// Versions that are read.
        read: &'static str,
        /// Action to take.
        hint: &'static str,
    },
    /// Packets have a link type whose headers are not read.
    #[error("{file}: byte {offset}: link type {number} is not read, only {}; {hint}", LinkType::READ)]
    LinkTypeUnknown {
        /// File, as the user named it.
        file: String,
        /// Offset of the link type, or of the first packet that has it.
        offset: u64,
        /// Number in the tcpdump.org registry of link types.
        number: u16,
        /// Action to take.
        hint: String,
    },
    /// The file ends inside a record.
    #[error(
        "{file}: cut at byte {end}, in the middle of the {record} that starts at byte {offset}: the packets before \
         it are good; copy or capture it again for the rest"
    )]
    Cut {
        /// File, as the user named it.
        file: String,
        /// Offset of the record's first byte.
        offset: u64,
        /// Number of bytes in the file.
        end: u64,
        /// Kind of the record.
        record: &'static str,
    },
    /// A length or number cannot be true: the file is damaged from here on.
    #[error(
        "{file}: byte {offset}: {problem}: the file is damaged here, the packets before are good; copy or capture it \
         again"
    )]
    Damaged {
        /// File, as the user named it.
        file: String,
        /// Offset of the record's first byte.
        offset: u64,
        /// Field, its value, and what it contradicts.
        problem: String,
    },
}

impl TraceError {
    /// Whether the file is damaged or cut here, so that the packets before are still good. False if none of it is a
    /// capture, or if the operating system failed.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Compression { .. } | Self::Trailing { .. } | Self::Cut { .. } | Self::Damaged { .. }
        )
    }
}
