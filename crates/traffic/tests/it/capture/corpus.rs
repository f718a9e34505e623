//! Inputs that fuzzing found worth keeping, replayed.

use super::bytes::{drain, open};
use anabranch_traffic::trace::Encapsulation;
use std::path::Path;

#[test]
fn the_fuzzing_corpus_is_read_without_a_panic_and_counted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/capture");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut opened, mut records) = (0, 0);
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        for encapsulation in [Encapsulation::Outer, Encapsulation::Inner] {
            if let Ok(reader) = open(&bytes, encapsulation) {
                opened += 1;
                records += drain(reader).records.len();
            }
        }
    }
    // A corpus that was lost, or one that no longer opens, tests nothing.
    assert!(files.len() > 100 && opened > 400 && records > 1000, "{opened} opened, {records} records");
}
