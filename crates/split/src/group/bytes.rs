//! Bytes of snapshots and deltas, written and read: little-endian, every length before what it counts.

use crate::{Members, PlanError, Weights};
use std::format;
use std::string::String;
use std::vec::Vec;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Version of both formats.
const FORMAT: u16 = 1;
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 8;
/// Members with a flag each, and members with what is left of each weight.
const FLAGS: u8 = 0;
const LEFT: u8 = 1;

/// Digest of a state: two states with the same one are the same.
pub(super) fn digest(body: &[u8]) -> u128 {
    xxh3_128(body)
}

/// Head of a snapshot or delta.
pub(super) fn begin(magic: [u8; 8]) -> Vec<u8> {
    [&magic[..], &FORMAT.to_le_bytes()].concat()
}

/// Ends a snapshot or delta by its checksum.
pub(super) fn end(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = xxh3_64(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Adds a text of at most 255 bytes: names and values of parameters are shorter.
pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(text.len() as u8);
    bytes.extend(text.as_bytes());
}

/// Adds members with their weights, and which of them are up or what is left of them. One that drains counts as down.
pub(super) fn put_members(bytes: &mut Vec<u8>, members: &Members) {
    bytes.extend((members.len() as u16).to_le_bytes());
    bytes.extend(members.weights().as_slice().iter().flat_map(|weight| weight.to_le_bytes()));
    if members.left().is_some() {
        bytes.push(LEFT);
        bytes.extend(members.effective().iter().flat_map(|weight| weight.to_le_bytes()));
    } else {
        bytes.push(FLAGS);
        bytes.extend(members.taking().into_iter().map(u8::from));
    }
}

/// Bytes of a snapshot or delta that are left to read.
pub(super) struct Unread<'a> {
    what: &'static str,
    bytes: &'a [u8],
    whole: usize,
}

impl<'a> Unread<'a> {
    /// Begins behind the head.
    ///
    /// # Errors
    /// Another magic, another version, or a checksum that is not that of the bytes.
    pub(super) fn new(what: &'static str, magic: [u8; 8], bytes: &'a [u8]) -> Result<Self, PlanError> {
        let mut unread = Self { what, bytes, whole: bytes.len() };
        if bytes.get(..magic.len()) != Some(&magic[..]) {
            let name = String::from_utf8_lossy(&magic).into_owned();
            return Err(PlanError::new(
                format!("{what}: does not begin with `{name}`"),
                format!("give the bytes of a {what}, all of them"),
            ));
        }
        unread.bytes = &bytes[magic.len()..];
        let format = u16::from_le_bytes(unread.array()?);
        if format != FORMAT {
            return Err(PlanError::new(
                format!("{what}: format {format}, and this version reads {FORMAT}"),
                "use the version of anabranch that wrote it, or plan the group anew",
            ));
        }
        let Some((content, checksum)) = unread.bytes.split_last_chunk::<CHECKSUM>() else {
            return Err(unread.cut());
        };
        if xxh3_64(&bytes[..bytes.len() - CHECKSUM]) != u64::from_le_bytes(*checksum) {
            return Err(unread.refused("the checksum is not that of the bytes, which were cut or changed"));
        }
        unread.bytes = content;
        Ok(unread)
    }

    /// Error about what is read now.
    pub(super) fn refused(&self, problem: &str) -> PlanError {
        let at = self.whole - self.bytes.len();
        PlanError::new(
            format!("{}: byte {at}: {problem}", self.what),
            format!("take the {} again and pass all of its bytes", self.what),
        )
    }

    fn cut(&self) -> PlanError {
        self.refused("the bytes end too early")
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], PlanError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(|| self.cut())?;
        self.bytes = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], PlanError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(|| self.cut())?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// A byte.
    pub(super) fn byte(&mut self) -> Result<u8, PlanError> {
        self.array().map(|[byte]| byte)
    }

    /// A text behind its length.
    pub(super) fn text(&mut self) -> Result<&'a str, PlanError> {
        let length = self.byte()?;
        let text = self.take(length.into())?;
        core::str::from_utf8(text).map_err(|_| self.refused("a name that is not UTF-8"))
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.bytes)
    }

    /// Whether all was read.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Members.
    ///
    /// # Errors
    /// Those of [`Weights::new`] and [`Members::new`], and bytes that are no members.
    pub(super) fn members(&mut self) -> Result<Members, PlanError> {
        let count = usize::from(u16::from_le_bytes(self.array()?));
        let weights = self.weights(count)?;
        match self.byte()? {
            LEFT => Ok(Members::lessened(weights, self.weights(count)?)),
            FLAGS => {
                let flags = self.take(count)?;
                if flags.iter().any(|&flag| flag > 1) {
                    return Err(self.refused("a path that is neither up nor down"));
                }
                Members::new(weights, flags.iter().map(|&flag| flag == 1).collect())
            }
            other => Err(self.refused(&format!("{other} is no kind of members"))),
        }
    }

    fn weights(&mut self, count: usize) -> Result<Weights, PlanError> {
        Weights::new(crate::history::long_words(self.take(8 * count)?).collect())
    }
}
