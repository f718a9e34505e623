//! Arrays of numbers as files of NumPy (the format NPY, version 1.0).

use anabranch_record::{Column, Values, WORD_LETTERS_MAX};
use std::fs;
use std::io;
use std::path::Path;

/// Bytes before the text of the header: magic, version, length.
const BEFORE: usize = 10;
/// Alignment of the data.
const ALIGNED: usize = 64;

/// Writes a column as `STEM.npy`; numbers that rows may lack have `STEM.missing.npy` beside it.
pub(crate) fn write_column(folder: &Path, stem: &str, column: &Column) -> io::Result<()> {
    let write = |ending: &str, content: Vec<u8>| fs::write(folder.join(format!("{stem}.{ending}")), content);
    match &column.values {
        Values::U64(values) => write("npy", array("<u8", values.iter().map(|value| value.to_le_bytes()))),
        Values::F64(values) => write("npy", array("<f8", values.iter().map(|value| value.to_le_bytes()))),
        Values::Bool(values) => write("npy", array("|b1", values.iter().map(|&value| [u8::from(value)]))),
        Values::Node(values) => write("npy", array("<u4", values.iter().map(|value| value.to_le_bytes()))),
        Values::Word(values) => {
            let word = |word: &&str| {
                let mut letters = [0; WORD_LETTERS_MAX];
                letters[..word.len()].copy_from_slice(word.as_bytes());
                letters
            };
            write("npy", array(&format!("|S{WORD_LETTERS_MAX}"), values.iter().map(word)))
        }
        Values::OptionalF64(values) => {
            let known = values.iter().map(|value| value.unwrap_or(f64::NAN).to_le_bytes());
            write("npy", array("<f8", known))
        }
        Values::OptionalU64(values) => {
            let known = values.iter().map(|value| value.unwrap_or(0).to_le_bytes());
            write("npy", array("<u8", known))?;
            write("missing.npy", array("|b1", values.iter().map(|value| [u8::from(value.is_none())])))
        }
    }
}

fn array<const BYTES: usize>(kind: &str, values: impl ExactSizeIterator<Item = [u8; BYTES]>) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({},), }}", values.len());
    while !(BEFORE + header.len() + 1).is_multiple_of(ALIGNED) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(values.flatten());
    file
}

#[cfg(test)]
mod tests {
    use super::array;

    /// Written by NumPy 2.4: `numpy.save(file, numpy.array([1, 2**40], dtype="<u8"))`.
    #[test]
    fn a_file_is_what_numpy_writes() {
        let header = "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }";
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend(header.as_bytes());
        expected.resize(127, b' ');
        expected.extend(b"\n\x01\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0");
        assert_eq!(array("<u8", [1u64, 1 << 40].iter().map(|value| value.to_le_bytes())), expected);
    }
}
