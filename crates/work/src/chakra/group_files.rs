//! File of groups beside the files of a trace.

use super::groups::Groups;
use super::rank_files::rank_of;
use crate::WorkError;
use std::path::Path;

/// File of groups that ASTRA-sim's and STAGE's examples have beside their traces.
const GROUPS: &str = "comm_group.json";

/// Reads the file of groups beside the trace `name` in `folder`: `comm_group.json`, or the one that STAGE names after the
/// trace (`NAME.json` for `NAME.0.et`; main.py). None if neither is there; what is named after the trace and lists no
/// groups is something else.
///
/// # Errors
/// A file that cannot be read or lists no groups, and two that differ.
pub fn read_groups(folder: &Path, name: &str) -> Result<Option<(String, Vec<u8>)>, WorkError> {
    let (within, own) = name.split_at(name.rfind('/').map_or(0, |slash| slash + 1));
    let read = |file: &str| match std::fs::read(folder.join(file)) {
        Ok(content) => Ok(Some((file.to_owned(), content))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let hint =
                "let it be read, for it is where groups of ranks are looked for; or name another by `groups`";
            Err(WorkError::new(file, format!("cannot be read: {error}"), hint))
        }
    };
    let common = read(&format!("{within}{GROUPS}"))?;
    let stem = rank_of(own).map_or(own, |(before, _)| before).trim_end_matches(['.', '_', '-']);
    let named = if stem.is_empty() { None } else { read(&format!("{within}{stem}.json"))? };
    let named = named.filter(|(file, content)| Groups::read(content, file).is_ok());
    match (common, named) {
        (Some(common), Some(named)) if common.1 != named.1 => Err(WorkError::new(
            named.0,
            format!("it lists groups, and so does `{}`, others", common.0),
            "name one of them by `groups`",
        )),
        (common, named) => Ok(common.or(named)),
    }
}
