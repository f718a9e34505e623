//! Identity of a run: two runs of the same identity are the same run.

use std::io::{self, Read};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Version of the model: raised whenever the same scenario gives other results. `CHANGELOG.md` says what changed.
pub const MODEL_VERSION: u32 = 7;

/// 32 hexadecimal digits of XXH3-128 over the canonical text and the model's version.
pub(crate) fn identity(canonical: &str) -> String {
    let mut hash = Xxh3::new();
    hash.update(&MODEL_VERSION.to_le_bytes());
    hash.update(canonical.as_bytes());
    format!("{:032x}", hash.digest128())
}

/// 32 hexadecimal digits of XXH3-128 over a content.
pub(crate) fn digest(content: &[u8]) -> String {
    format!("{:032x}", xxh3_128(content))
}

/// A file that is read once, with the digest of what was read.
pub(crate) struct Digested<R> {
    input: R,
    hash: Xxh3,
}

impl<R: Read> Digested<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, hash: Xxh3::new() }
    }

    /// 32 hexadecimal digits of XXH3-128 over the whole content, the rest of which is read.
    pub(crate) fn digest(mut self) -> io::Result<String> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(format!("{:032x}", self.hash.digest128()))
    }
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}
