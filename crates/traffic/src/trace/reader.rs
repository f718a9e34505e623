//! Reader of captures.

use super::compression::{Compression, Counted};
use super::frame::Frame;
use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::unrecognised;
use super::window::Window;
use super::{TraceCounts, TraceError};
use crate::PacketRecord;
use crate::header::{Decoded, Encapsulation, HeaderDecoder};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

enum Container {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Container {
    fn open(window: &mut Window) -> Result<Self, TraceError> {
        let ahead = window.ahead(4);
        let Some(&magic) = ahead.first_chunk::<4>() else {
            return Err(unrecognised::error(window));
        };
        if let Some(kind) = Pcap::recognise(magic) {
            Pcap::open(kind, window).map(Self::Pcap)
        } else if Pcapng::recognise(magic) {
            Ok(Self::Pcapng(Pcapng::new()))
        } else {
            Err(unrecognised::error(window))
        }
    }

    #[inline]
    fn next<'w>(&mut self, window: &'w mut Window) -> Result<Option<Frame<'w>>, TraceError> {
        match self {
            Self::Pcap(pcap) => pcap.next(window),
            Self::Pcapng(pcapng) => pcapng.next(window),
        }
    }
}

/// Reader of a capture packet by packet, in constant memory: pcap or pcapng, plain or compressed with gzip or zstd,
/// recognised by the first bytes.
///
/// A later fragment of an IP packet has the tuple of its first fragment, if that was among the 65,536 first fragments
/// before it.
pub struct TraceReader {
    window: Window,
    container: Container,
    decoder: HeaderDecoder,
    counts: TraceCounts,
    bytes_read: Arc<AtomicU64>,
    total_bytes: Option<u64>,
    /// Error that follows the records already returned.
    held: Option<TraceError>,
    ended: bool,
}

impl TraceReader {
    /// Opens the capture at `path`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or if [`Self::new`] refuses it.
    pub fn open(path: &Path, encapsulation: Encapsulation) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = opened.map_err(|source| TraceError::Open { file: name.clone(), source })?;
        let total_bytes = metadata.is_file().then_some(metadata.len());
        Self::new(name, Box::new(file), total_bytes, encapsulation)
    }

    /// Reads a capture from `input`; errors call it `name`. `total_bytes` is its (compressed) length, if it is known.
    ///
    /// # Errors
    /// Refuses input that is no capture, and a pcap file of an unknown version or link type.
    pub fn new(
        name: String,
        input: Box<dyn Read + Send>,
        total_bytes: Option<u64>,
        encapsulation: Encapsulation,
    ) -> Result<Self, TraceError> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let counted = Box::new(Counted { input, bytes: Arc::clone(&bytes_read) });
        let (compression, input) = match Compression::detect(counted) {
            Ok(detected) => detected,
            Err(source) => return Err(TraceError::Read { file: name, offset: 0, source }),
        };
        Self::uncompressed(name, (compression, input), (bytes_read, total_bytes), encapsulation)
    }

    /// Reads a capture from what `Compression::detect` gave; `bytes` are those read of it, compressed, and their total.
    pub(crate) fn uncompressed(
        name: String,
        (compression, input): (Compression, Box<dyn Read + Send>),
        (bytes_read, total_bytes): (Arc<AtomicU64>, Option<u64>),
        encapsulation: Encapsulation,
    ) -> Result<Self, TraceError> {
        let mut window = Window::new(name, compression, input);
        let container = Container::open(&mut window)?;
        Ok(Self {
            window,
            container,
            decoder: HeaderDecoder::new(encapsulation),
            counts: TraceCounts::default(),
            bytes_read,
            total_bytes,
            held: None,
            ended: false,
        })
    }

    /// Replaces `records` by those of the next packets, in the order of the capture. Looks at `limit` packets (at least
    /// one): packets that are no IP give no record. Returns false at the end, with no records.
    ///
    /// # Errors
    /// Fails at damage, a cut, or a failing disk, after all records before it were returned. The reader is then at its
    /// end.
    pub fn next_batch(&mut self, records: &mut Vec<PacketRecord>, limit: usize) -> Result<bool, TraceError> {
        records.clear();
        if let Some(error) = self.held.take() {
            return Err(error);
        }
        if self.ended {
            return Ok(false);
        }
        for packets in 0..limit.max(1) {
            match self.container.next(&mut self.window) {
                Ok(Some(frame)) => {
                    let packet = self.decoder.decode(frame.link_type, frame.bytes, frame.original_bytes);
                    self.counts.add(&packet);
                    if let Ok(decoded) = packet {
                        let (time_ns, bytes) = (frame.time_ns, frame.original_bytes);
                        let Decoded { tuple, headers, .. } = decoded;
                        records.push(PacketRecord { time_ns, bytes, tuple, headers });
                    }
                }
                Ok(None) => {
                    self.ended = true;
                    return Ok(packets > 0);
                }
                Err(error) => {
                    self.ended = true;
                    if packets == 0 {
                        return Err(error);
                    }
                    self.held = Some(error);
                    return Ok(true);
                }
            }
        }
        Ok(true)
    }

    /// Counts of the packets read so far.
    #[must_use]
    pub fn counts(&self) -> &TraceCounts {
        &self.counts
    }

    /// Bytes read of the file, compressed as it is, and its length if it is known.
    #[must_use]
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.bytes_read.load(Ordering::Relaxed), self.total_bytes)
    }
}
