//! Warnings of input that means something else than it seems to.

use anabranch_scenario::Scenario;
use std::path::Path;

fn warnings(text: &str) -> String {
    let scenario = Scenario::parse(text, "s.toml", &[]).unwrap();
    let resolved = scenario.resolve(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")).unwrap();
    let flows = resolved.flows().unwrap();
    resolved.warnings(&flows, &resolved.offered_load(&flows)).join("\n")
}

#[test]
fn a_run_of_no_flow_says_so() {
    let incast = |jobs: u32| {
        warnings(&format!(
            "[[traffic]]\nkind = \"incast\"\nservers = 4\nresponse = \"20 KB\"\njobs_per_s = {jobs}\nduration = \"1 ms\"\n"
        ))
    };
    let none = "no flow begins, so that nothing is measured: what the traffic draws comes to none; give a longer \
                traffic.duration";
    assert!(incast(1).starts_with(none), "{}", incast(1));
    assert!(!incast(100_000).contains("no flow begins"));
}

#[test]
fn hosts_that_are_not_numbered_as_they_are_named_are_warned_of() {
    let of = |second: &str, third: &str, traffic: &str| {
        warnings(&format!(
            "[fabric]\nkind = \"graph\"\nedge = [{{ from = \"h0\", to = \"a\" }}, {{ from = \"{second}\", to = \"b\" }}, \
             {{ from = \"{third}\", to = \"a\" }}, {{ from = \"h3\", to = \"b\" }}, {{ from = \"a\", to = \"s\" }}, \
             {{ from = \"b\", to = \"s\" }}]\n[[traffic]]\nkind = \"once\"\nsizes = \"1 KB\"\n{traffic}"
        ))
    };
    let pairs = "pattern = { pairs = [[0, 1]] }\n";
    let warning = "hosts are not numbered as their names count: host 1 is h2, and host 2 is h1; traffic that names hosts \
                   means these numbers, and flow lists may give names";
    let swapped = of("h2", "h1", pairs);
    assert!(swapped.contains(warning), "{swapped}");
    assert!(!of("h2", "h1", "").contains("numbered"), "no number is named");
    assert!(
        !of("h1", "h2", pairs).contains("numbered"),
        "hosts keep the order of the file, whatever their leaves"
    );
}
