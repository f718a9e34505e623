//! Compression, told by the first bytes.

use super::TraceError;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Compressed bytes that are read at once.
const READ_BYTES: usize = 128 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// RFC 1952 section 2.3.1; RFC 8878 sections 3.1.1 and 3.1.2 (parallel compressors begin with a skippable frame).
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The uncompressed bytes of `input`.
    pub(crate) fn detect(mut input: Box<dyn Read + Send>) -> io::Result<(Self, Box<dyn Read + Send>)> {
        let mut magic = Vec::with_capacity(4);
        input.by_ref().take(4).read_to_end(&mut magic)?;
        let compression = Self::of(&magic);
        let input = Cursor::new(magic).chain(input);
        Ok((
            compression,
            match compression {
                Self::None => Box::new(input),
                Self::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(READ_BYTES, input))),
                Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(
                    READ_BYTES, input,
                ))?),
            },
        ))
    }

    /// What it means that reading failed with `source` behind byte `offset` of the capture.
    pub(super) fn error(self, file: String, offset: u64, source: io::Error) -> TraceError {
        let compression = match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::None => return TraceError::Read { file, offset, source },
        };
        // Errors of the system have a number, those of the decompressors do not.
        if source.raw_os_error().is_some() {
            return TraceError::Read { file, offset, source };
        }
        TraceError::Compression { file, compression, offset, source }
    }
}

/// Counts the bytes that pass.
pub(crate) struct Counted<R> {
    pub(crate) input: R,
    pub(crate) bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
