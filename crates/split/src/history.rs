//! History of a plan as bytes: what reading it back has to refuse.

use crate::PlanError;
use std::format;
use std::vec;
use std::vec::Vec;

/// Error of bytes that are no history of the plan they came with.
pub(crate) fn refused(problem: &str) -> PlanError {
    PlanError::new(
        format!("snapshot: {problem}"),
        "take another snapshot of the group; this one was changed, or is of another program",
    )
}

/// Refuses a history unless `holds`.
///
/// # Errors
/// Says `problem`.
pub(crate) fn expect(holds: bool, problem: &str) -> Result<(), PlanError> {
    if holds { Ok(()) } else { Err(refused(problem)) }
}

/// Number of entries of `table` that name each of `members`.
///
/// # Errors
/// An entry that names none of them.
pub(crate) fn counts(table: impl Iterator<Item = u16>, members: usize) -> Result<Vec<u32>, PlanError> {
    let mut counts = vec![0u32; members];
    for member in table {
        match counts.get_mut(usize::from(member)) {
            Some(count) => *count += 1,
            None => {
                return Err(refused(&format!("a slot names path {}, of {members}", u32::from(member) + 1)));
            }
        }
    }
    Ok(counts)
}

/// Little-endian words of two bytes.
pub(crate) fn words(bytes: &[u8]) -> impl ExactSizeIterator<Item = u16> + Clone {
    bytes.as_chunks().0.iter().map(|&word| u16::from_le_bytes(word))
}

/// Little-endian words of eight bytes.
pub(crate) fn long_words(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> + Clone {
    bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word))
}
