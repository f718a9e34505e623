//! Files that a scenario names: what is in them is part of what it means.

use crate::identity::Digested;
use anabranch_form::Origin;
use anabranch_form::unit::Text;
use anabranch_form::{Form, FormError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A file by name, and what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFile {
    /// The name; relative to the scenario's file.
    pub path: String,
    /// XXH3-128 of its content, in hexadecimal digits; none until it is read.
    pub digest: Option<String>,
}

/// Files on disk that a scenario names.
#[derive(Clone, Debug)]
pub struct Files<'a> {
    /// The folder that names are relative to: the scenario's own.
    pub folder: &'a Path,
    /// Copies of files that are elsewhere, by digest: on another machine the name alone leads nowhere.
    pub copies: BTreeMap<String, PathBuf>,
}

impl<'a> Files<'a> {
    /// All files are where their names say.
    #[must_use]
    pub fn of(folder: &'a Path) -> Self {
        Self { folder, copies: BTreeMap::new() }
    }

    pub(crate) fn find(&self, file: &NamedFile) -> PathBuf {
        let copy = file.digest.as_ref().and_then(|digest| self.copies.get(digest));
        copy.cloned().unwrap_or_else(|| self.folder.join(&file.path))
    }
}

/// The keys `file` and `digest`; `meaning` is that of the file.
pub(crate) fn visit(form: &mut impl Form, file: &mut NamedFile, meaning: &'static str) {
    let path = Text { wants: "the name of a file, relative to the scenario's" };
    form.required("file", path, &mut file.path, meaning);
    form.optional(
        "digest",
        Text { wants: "32 hexadecimal digits" },
        &mut file.digest,
        "XXH3-128 of the file, found where it is not given: another content is another run.",
    );
}

/// Reads the file that `key` names, whole; its digest is noted, or compared with what was noted.
pub(crate) fn content(
    file: &mut NamedFile,
    key: &str,
    origin: &Origin,
    files: &Files<'_>,
) -> Result<Vec<u8>, FormError> {
    let mut content = Vec::new();
    let read = read(file, key, origin, files, |input| input.read_to_end(&mut content))?;
    read.map(|_| content).map_err(|error| unreadable(file, key, origin, &error))
}

fn unreadable(file: &NamedFile, key: &str, origin: &Origin, error: &io::Error) -> FormError {
    let problem = format!("`{}` cannot be read: {error}", file.path);
    origin.error(key, &problem, "give a file, relative to the scenario's own")
}

/// Reads the file that `key` names by `reader`, which need not come to its end; its digest is noted, or compared with
/// what was noted. Content of another digest is refused before what `reader` found in it.
pub(crate) fn read<T>(
    file: &mut NamedFile,
    key: &str,
    origin: &Origin,
    files: &Files<'_>,
    reader: impl FnOnce(&mut Digested<File>) -> T,
) -> Result<T, FormError> {
    let refused = |error| unreadable(file, key, origin, &error);
    let mut input = Digested::new(File::open(files.find(file)).map_err(refused)?);
    let read = reader(&mut input);
    let found = input.digest().map_err(refused)?;
    match &file.digest {
        Some(noted) if *noted != found => {
            let problem = format!("`{}` has the digest {found}, not {noted}", file.path);
            Err(origin.error(key, &problem, "give the file that was meant, or leave `digest` out"))
        }
        _ => {
            file.digest = Some(found);
            Ok(read)
        }
    }
}

/// An error within a file that `key` names; its text ends with the hint.
pub(crate) fn file_error(key: &str, error: &impl ToString, origin: &Origin) -> FormError {
    let text = error.to_string();
    let (problem, hint) = text.rsplit_once("; ").unwrap_or((&text, "hint the file"));
    origin.error(key, problem, hint)
}
