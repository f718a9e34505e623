//! Window that moves over the uncompressed capture: whole records, in constant memory.

use super::TraceError;
use super::compression::{Compression, trails};
use std::io::{self, Read};

/// Largest number of bytes that one read takes from the input.
const READ_BYTES: usize = 256 * 1024;
/// Longest record that is kept whole, in bytes. No capture tool writes packets of this size: `tcpdump` stops at 262,144
/// bytes, libpcap refuses larger blocks.
pub(super) const RECORD_MAX: usize = 16 * 1024 * 1024;

pub(super) struct Window {
    file: String,
    compression: Compression,
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Position in `buffer` of the first byte that is not taken yet.
    start: usize,
    end: usize,
    /// Offset of `start` in the capture.
    offset: u64,
    ended: bool,
    fault: Option<io::Error>,
}

impl Window {
    pub(super) fn new(file: String, compression: Compression, input: Box<dyn Read + Send>) -> Self {
        let buffer = vec![0; READ_BYTES];
        Self { file, compression, input, buffer, start: 0, end: 0, offset: 0, ended: false, fault: None }
    }

    /// Offset of the next byte in the capture.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn file(&self) -> String {
        self.file.clone()
    }

    /// Shows the bytes ahead: `bytes` (at most [`RECORD_MAX`]) or more, fewer only if the input ends.
    #[inline]
    pub(super) fn ahead(&mut self, bytes: usize) -> &[u8] {
        if self.end - self.start < bytes {
            self.fill(bytes);
        }
        &self.buffer[self.start..self.end]
    }

    /// Takes `bytes` of those ahead, and shows them.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> &[u8] {
        let from = self.start;
        self.start = self.end.min(from + bytes);
        self.offset += (self.start - from) as u64;
        &self.buffer[from..self.start]
    }

    /// Skips any number of `bytes`; returns false if the input ends before.
    pub(super) fn skip(&mut self, mut bytes: u64) -> bool {
        while bytes > 0 {
            let there = self.ahead(1).len();
            if there == 0 {
                return false;
            }
            let step = usize::try_from(bytes).unwrap_or(there).min(there);
            self.take(step);
            bytes -= step as u64;
        }
        true
    }

    /// Whether the input ended without an error and nothing is ahead.
    pub(super) fn is_at_end(&self) -> bool {
        self.ended && self.fault.is_none() && self.start == self.end
    }

    /// Whether reading failed behind the bytes ahead.
    pub(super) fn has_failed(&self) -> bool {
        self.fault.is_some()
    }

    /// Makes the error for a `record` that begins at `offset` and is incomplete.
    pub(super) fn cut(&mut self, offset: u64, record: &'static str) -> TraceError {
        let file = self.file();
        let end = self.offset + (self.end - self.start) as u64;
        match self.fault.take() {
            // What follows whole gzip data is no reason for a record that ends too early.
            Some(source) if end == offset || !trails(&source) => self.compression.error(file, end, source),
            _ => TraceError::Cut { file, offset, end, record },
        }
    }

    /// Makes the error for a `problem` of the record that begins at `offset`.
    pub(super) fn damaged(&self, offset: u64, problem: String) -> TraceError {
        TraceError::Damaged { file: self.file(), offset, problem }
    }

    #[cold]
    fn fill(&mut self, bytes: usize) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        while self.end < bytes && !self.ended {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.fault = Some(error);
                    self.ended = true;
                }
            }
        }
    }
}
