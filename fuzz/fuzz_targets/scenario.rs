//! Arbitrary text as a scenario, with overrides behind zero bytes: no panic, errors with a text, and a scenario that
//! reads the same from its canonical text.
#![no_main]

use anabranch_scenario::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &str| {
    let mut parts = data.split('\0');
    let text = parts.next().unwrap_or_default();
    let overrides: Vec<(String, String)> =
        parts.filter_map(|part| part.split_once('=')).map(|(key, value)| (key.into(), value.into())).collect();
    match Scenario::parse(text, "fuzz.toml", &overrides) {
        Err(error) => assert!(!error.problem.is_empty() && !error.mend.is_empty()),
        Ok(scenario) => {
            let canonical = scenario.to_toml();
            let again = Scenario::parse(&canonical, "canonical.toml", &[]).expect("its own text is read");
            assert_eq!(again, scenario);
            assert_eq!(again.to_toml(), canonical);
        }
    }
});
