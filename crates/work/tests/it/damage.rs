//! Damaged files of every format: errors with place and hint, no panic, no endless loop; what fuzzing kept is replayed.

use anabranch_work::read::{Format, Settings, read_bytes};
use proptest::prelude::*;
use std::path::Path;

/// Reads as the fuzz target does; returns whether a graph was there.
fn survives(data: &[u8]) -> bool {
    let Some((&first, data)) = data.split_first() else { return false };
    let format = Format::ALL[usize::from(first) % Format::ALL.len()];
    match read_bytes(
        &[("fuzz".to_owned(), data.to_vec())],
        format,
        &Settings { bytes: 1 << 20, ..Settings::default() },
    ) {
        Err(error) => {
            assert!(!error.position.is_empty() && !error.problem.is_empty() && !error.hint.is_empty());
            false
        }
        Ok(graph) => {
            let _ = graph.check();
            true
        }
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/work");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn the_fuzzing_corpus_is_read_without_a_panic() {
    let corpus = corpus();
    let graphs = corpus.iter().filter(|data| survives(data)).count();
    // A corpus that was lost, or one in which nothing is a graph any more, tests nothing.
    assert!(corpus.len() >= 9 && graphs >= 6, "{graphs} graphs in {} files", corpus.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damage_is_refused_or_harmless(
        pick in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let corpus = corpus();
        let mut data = pick.get(&corpus).clone();
        for (at, byte) in changes {
            *at.get_mut(&mut data) = byte;
        }
        if let Some(cut) = cut {
            data.truncate(cut.index(data.len()));
        }
        survives(&data);
    }
}
