//! Files of a trace: one for each rank, beside each other, with the rank at the end of their names.

use crate::WorkError;
use std::collections::BTreeMap;
use std::path::Path;

const ENDING: &str = ".et";

/// Name before the rank, and the rank: `all.0.et`, `rank_0.et`, `trace0.et` and `0.et` are all of rank 0.
pub(super) fn rank_of(name: &str) -> Option<(&str, u32)> {
    let stem = name.strip_suffix(ENDING)?;
    let before = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    Some((before, stem[before.len()..].parse().ok()?))
}

/// Name of the file of another rank beside `name`.
pub(super) fn name_of(name: &str, rank: u32) -> String {
    let (within, own) = name.split_at(name.rfind('/').map_or(0, |slash| slash + 1));
    rank_of(own)
        .map_or_else(|| format!("rank {rank}"), |(before, _)| format!("{within}{before}{rank}{ENDING}"))
}

/// Reads the files of all ranks, given the name of one of them in `folder`, in the order of ranks, each with the name
/// that errors state. A name without a number is the trace of a single rank.
///
/// # Errors
/// A file that cannot be read, a rank without a file, and two files of one rank.
pub fn read_ranks(folder: &Path, name: &str) -> Result<Vec<(String, Vec<u8>)>, WorkError> {
    let read = |name: &str| {
        std::fs::read(folder.join(name)).map(|content| (name.to_owned(), content)).map_err(|error| {
            let hint = "give the file of rank 0, with those of the other ranks beside it";
            WorkError::new(name, format!("cannot be read: {error}"), hint)
        })
    };
    // What stands before the last `/` is kept as the user wrote it.
    let (within, own) = name.split_at(name.rfind('/').map_or(0, |slash| slash + 1));
    let Some((before, _)) = rank_of(own) else { return Ok(vec![read(name)?]) };
    let named = read(name)?;
    let beside = Path::new(".").join(folder).join(within);
    let unlisted = |error: std::io::Error| {
        let problem = format!("the folder cannot be listed: {error}");
        WorkError::new(name, problem, "let it be read, for the files of the other ranks are beside this one")
    };
    let mut of_rank: BTreeMap<u32, String> = BTreeMap::new();
    for entry in std::fs::read_dir(beside).map_err(unlisted)? {
        let found = entry.map_err(unlisted)?.file_name();
        let Some(found) = found.to_str() else { continue };
        let Some((_, rank)) = rank_of(found).filter(|&(other, _)| other == before) else { continue };
        if let Some(first) = of_rank.insert(rank, found.to_owned()) {
            let problem = format!("`{first}` and `{found}` are both of rank {rank}");
            return Err(WorkError::new(name, problem, "leave one of them"));
        }
    }
    let Some(&last) = of_rank.keys().last() else { return Ok(vec![named]) };
    if let Some(absent) = (0..=last).find(|rank| !of_rank.contains_key(rank)) {
        return Err(WorkError::new(
            format!("{within}{before}{absent}{ENDING}"),
            format!("the trace of rank {absent} is not there, and that of rank {last} is"),
            "put the files of all ranks beside each other, numbered from 0",
        ));
    }
    of_rank.values().map(|found| read(&format!("{within}{found}"))).collect()
}
