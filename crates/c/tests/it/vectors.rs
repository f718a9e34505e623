//! The vectors of `vectors/split/`, read by a program in C.

use crate::installed::{CRATE, Linked, compiled_file, lines};
use std::fs;
use std::path::Path;

/// Lines of a vector that have something to compare.
fn compared(text: &str) -> usize {
    let verbs =
        ["revision", "delta", "snapshot", "table", "entries", "picks", "bounded", "accepted", "refused"];
    text.lines().filter(|line| verbs.contains(&line.split(' ').next().unwrap())).count()
}

#[test]
fn groups_in_c_do_what_the_vectors_say() {
    let program = Path::new(CRATE).join("tests/vectors.c");
    let Some(program) = compiled_file(&program, Linked::Statically) else { return };
    let folder = fs::read_dir(Path::new(CRATE).join("../../vectors/split")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let ours = |path: &Path| {
        let name = path.file_name().unwrap();
        name != "requirements.txt" && path.extension().is_some_and(|of| of == "txt" || of == "snapshots")
    };
    let mut files =
        paths.filter(|path| ours(path)).map(|path| path.display().to_string()).collect::<Vec<_>>();
    files.sort_unstable();
    assert!(files.len() > 20, "{files:?}");
    let counts = files.iter().map(|file| format!("{file} {}", compared(&fs::read_to_string(file).unwrap())));
    let counts = counts.collect::<Vec<_>>();
    assert_eq!(lines(&program, &files.iter().map(String::as_str).collect::<Vec<_>>()), counts);
}
