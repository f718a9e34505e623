//! Protocol Buffers on the wire: numbered fields of four shapes. Three messages of ten fields need no library, and every
//! error can name its byte.

use crate::WorkError;

/// Value of a field as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// Integers, booleans, enumerations.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Text, bytes, messages, packed lists; with the offset of the first byte in the file.
    Bytes(&'a [u8], usize),
    /// Four bytes.
    Fixed32(u32),
}

/// Reader of fields.
pub(super) struct Wire<'a> {
    pub(super) file: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Offset of `bytes` in the file.
    offset: usize,
}

impl<'a> Wire<'a> {
    pub(super) fn new(file: &'a str, bytes: &'a [u8], offset: usize) -> Self {
        Self { file, bytes, at: 0, offset }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(super) fn offset(&self) -> usize {
        self.offset + self.at
    }

    pub(super) fn error(&self, at: usize, problem: &str) -> WorkError {
        WorkError::at_byte(self.file, at, problem, "give a Chakra trace that is neither cut nor compressed")
    }

    /// A number of up to ten bytes, seven bits each, the lowest first.
    pub(super) fn varint(&mut self) -> Result<u64, WorkError> {
        let start = self.offset();
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1, start)?[0];
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error(start, "a number of more than 64 bits"))
    }

    fn take(&mut self, count: usize, start: usize) -> Result<&'a [u8], WorkError> {
        let left = self.bytes.len() - self.at;
        if count > left {
            let problem =
                format!("the file or message ends within a field: {left} of {count} bytes are there");
            return Err(self.error(start, &problem));
        }
        self.at += count;
        Ok(&self.bytes[self.at - count..self.at])
    }

    /// Bytes behind their length.
    pub(super) fn counted(&mut self) -> Result<(&'a [u8], usize), WorkError> {
        let start = self.offset();
        let count = self.varint()?;
        let count = usize::try_from(count).map_err(|_| self.error(start, "a length of more than 2^63"))?;
        let at = self.offset();
        Ok((self.take(count, start)?, at))
    }

    /// The next field; none at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u64, Value<'a>, usize)>, WorkError> {
        if self.is_at_end() {
            return Ok(None);
        }
        let start = self.offset();
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(self.take(8, start)?);
                Value::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let (bytes, at) = self.counted()?;
                Value::Bytes(bytes, at)
            }
            5 => {
                let mut bytes = [0; 4];
                bytes.copy_from_slice(self.take(4, start)?);
                Value::Fixed32(u32::from_le_bytes(bytes))
            }
            shape => return Err(self.error(start, &format!("a field of shape {shape}, which there is not"))),
        };
        Ok(Some((key >> 3, value, start)))
    }
}
