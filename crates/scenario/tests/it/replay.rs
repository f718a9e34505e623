//! `[replay]`: what it takes, and where it would do nothing.

use anabranch_scenario::Scenario;

fn message(text: &str) -> String {
    Scenario::parse(text, "s.toml", &[]).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn replay_without_a_graph_or_with_nothing_to_compare_is_refused() {
    assert_eq!(
        message("[[traffic]]\nload = 0.5\nflows = 5\n[replay]"),
        "s.toml:4: replay: no graph sends messages that could repeat; give [[traffic]] of kind = \"graph\", or leave out \
         [replay]"
    );
    let graph = "[[traffic]]\nkind = \"graph\"\ncollective = \"all-reduce\"\nsize = \"1 MB\"\n[replay]\n";
    assert_eq!(message(graph), "");
    assert_eq!(
        message(&format!("{graph}sample = 1")),
        "s.toml:6: replay.sample: 1.0 leaves nothing to compare, or nothing to replay; give a number above 0 and below 1, \
         such as 0.05; or leave out [replay]"
    );
}
