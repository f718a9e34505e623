//! Every input that fuzzing found worth keeping, replayed; what the fuzz target checks, checked here.

use anabranch_scenario::Scenario;
use std::path::Path;

#[test]
fn the_fuzzing_corpus_is_read_without_a_panic_and_reads_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/scenario");
    let (mut files, mut scenarios) = (0, 0);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let Ok(input) = String::from_utf8(std::fs::read(entry.unwrap().path()).unwrap()) else { continue };
        files += 1;
        let mut parts = input.split('\0');
        let text = parts.next().unwrap();
        let overrides: Vec<(String, String)> = parts
            .filter_map(|part| part.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        match Scenario::parse(text, "corpus.toml", &overrides) {
            Err(error) => assert!(!error.problem.is_empty() && !error.hint.is_empty()),
            Ok(scenario) => {
                scenarios += 1;
                let canonical = scenario.to_toml();
                let again = Scenario::parse(&canonical, "canonical.toml", &[]).unwrap();
                assert_eq!((again.to_toml(), &again), (canonical, &scenario));
            }
        }
    }
    // A corpus that was lost, or one in which nothing is a scenario any more, tests nothing.
    assert!(files > 50 && scenarios > 5, "{scenarios} scenarios in {files} files");
}
