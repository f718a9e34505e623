//! Compression of a capture, recognised by its first bytes.

use super::TraceError;
use flate2::bufread::GzDecoder;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of compressed bytes that are read at once.
const READ_BYTES: usize = 128 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// Recognises the formats of RFC 1952 section 2.3.1 and RFC 8878 sections 3.1.1 and 3.1.2 (parallel compressors
    /// begin with a skippable frame).
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// Uncompresses `input`.
    pub(crate) fn detect(mut input: Box<dyn Read + Send>) -> io::Result<(Self, Box<dyn Read + Send>)> {
        let mut magic = Vec::with_capacity(4);
        input.by_ref().take(4).read_to_end(&mut magic)?;
        let compression = Self::of(&magic);
        let input = Cursor::new(magic).chain(input);
        Ok((
            compression,
            match compression {
                Self::None => Box::new(input),
                Self::Gzip => Box::new(GzipMembers::new(BufReader::with_capacity(READ_BYTES, input))),
                Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(
                    READ_BYTES, input,
                ))?),
            },
        ))
    }

    /// Explains why reading failed with `source` behind byte `offset` of the capture.
    pub(crate) fn error(self, file: String, offset: u64, source: io::Error) -> TraceError {
        let compression = match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::None => return TraceError::Read { file, offset, source },
        };
        // Errors of the system have a number, those of the decompressors do not.
        if source.raw_os_error().is_some() {
            return TraceError::Read { file, offset, source };
        }
        if trails(&source) {
            return TraceError::Trailing { file, offset };
        }
        TraceError::Compression { file, compression, offset, source }
    }
}

/// Whether reading failed because something else follows the gzip data, which is whole.
pub(super) fn trails(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TrailingBytes>())
}

/// Error: other bytes follow the last gzip member.
#[derive(Debug)]
struct TrailingBytes;

impl fmt::Display for TrailingBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("other bytes follow the gzip data")
    }
}

impl std::error::Error for TrailingBytes {}

/// Reader of the members of a gzip file, one after the other (RFC 1952 section 2.2). Zeros behind the last member are
/// its end too: tapes and block devices pad files with them. gzip's own reader does the same.
struct GzipMembers<R> {
    /// Current member; `None` at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(input: R) -> Self {
        Self { member: Some(GzDecoder::new(input)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else { break };
            match skip_zeros(&mut rest)? {
                None => break,
                Some((0, 0x1f)) => self.member = Some(GzDecoder::new(rest)),
                Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, TrailingBytes)),
            }
        }
        Ok(0)
    }
}

/// Skips zeros; returns their number and the byte ahead, or `None` at the end of the input.
fn skip_zeros(input: &mut impl BufRead) -> io::Result<Option<(u64, u8)>> {
    let mut zeros = 0;
    loop {
        let ahead = match input.fill_buf() {
            Ok(ahead) => ahead,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let Some(&first) = ahead.first() else { return Ok(None) };
        let run = ahead.iter().take_while(|&&byte| byte == 0).count();
        if run == 0 {
            return Ok(Some((zeros, first)));
        }
        zeros += run as u64;
        input.consume(run);
    }
}

/// Reader that counts the bytes that pass.
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
