//! Arbitrary bytes as a workload graph in each format, which the first byte chooses: no panic, errors with place and hint,
//! and a graph that passes its check comes to its end.
#![no_main]

use anabranch_work::read::{Format, Settings, read_bytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else { return };
    let format = Format::ALL[usize::from(first) % Format::ALL.len()];
    match read_bytes(&[("fuzz".to_owned(), data.to_vec())], format, &Settings { bytes: 1 << 20, ..Settings::default() }) {
        Err(error) => assert!(!error.position.is_empty() && !error.problem.is_empty() && !error.hint.is_empty()),
        Ok(graph) => {
            let _ = graph.check();
        }
    }
});
