//! Keys of inference: what is read, and what is refused.

use anabranch_scenario::Scenario;
use anabranch_traffic::{FlowSource, Start};
use std::path::Path;

const FABRIC: &str = "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[[traffic]]\nkind = \"graph\"\n";
const MODEL: &str = "layers = 2\nhidden = 64\nkv_heads = 4\nhead = 16\n";
const GROUPS: &str = "prefill = { tensor = 2, token = \"1 us\" }\ndecode = { groups = 2, tensor = 2, step = [\"10 us\", \"11 us\"] }\n";
const RANDOM: &str = "requests = 6\nrequests_per_s = 1000\nprompt = [100, 200]\noutput = [3, 1, 5]\n";

fn inference(keys: &str) -> String {
    format!("[traffic.inference]\n{MODEL}{GROUPS}{keys}")
}

/// Sizes of the messages of what is resolved, and when its graphs' waits end.
fn resolved(keys: &str) -> Result<(Vec<u64>, Vec<u64>), String> {
    with_seed(1, keys)
}

fn with_seed(seed: u32, keys: &str) -> Result<(Vec<u64>, Vec<u64>), String> {
    let text = format!("seed = {seed}\n{FABRIC}{keys}");
    let scenario = Scenario::parse(&text, "s.toml", &[]).map_err(|error| error.to_string())?;
    let resolved =
        scenario.resolve(Path::new(env!("CARGO_TARGET_TMPDIR"))).map_err(|error| error.to_string())?;
    let again = Scenario::parse(&resolved.to_toml(), "again.toml", &[]).unwrap();
    assert_eq!(again.to_toml(), resolved.to_toml());
    let flows = resolved.flows().map_err(|error| error.to_string())?;
    assert!(flows.pass().all(|flow| matches!(flow.start, Start::Ready { .. })));
    let graph = &resolved.settings().works[0].graph;
    let arrivals = graph.requests().iter().map(|one| match graph.node(one.arrival).act {
        anabranch_work::Act::Wait { ps } => ps,
        _ => 0,
    });
    Ok((flows.pass().map(|flow| flow.size_bytes).collect(), arrivals.collect()))
}

#[test]
fn requests_come_at_random_by_the_seed_or_as_listed() {
    let (sizes, arrivals) = resolved(&inference(RANDOM)).unwrap();
    // Six requests of two layers with two sums of two ranks, four of which have a cache of two layers and two halves; of
    // 2, 4, 2 and 4 steps with as many sums.
    assert_eq!(sizes.len(), 6 * 2 * 2 * 4 + 4 * 2 * 2 + (2 + 4 + 2 + 4) * 2 * 2 * 4);
    assert_eq!(arrivals.len(), 6);
    assert!(arrivals.is_sorted() && arrivals[0] > 0);
    assert_ne!(with_seed(2, &inference(RANDOM)).unwrap().1, arrivals);
    let listed = inference("arrivals = [\"0 s\", \"5 us\"]\nprompt = 100\noutput = 2\ncache = \"end\"\n");
    let (sizes, arrivals) = resolved(&listed).unwrap();
    assert_eq!(arrivals, [0, 5_000_000]);
    // Two halves of two layers' keys and values, four heads of 16, two bytes a value.
    let cache = 2 * 2 * 4 * 16 * 100 * 2 / 2;
    assert_eq!(sizes.iter().filter(|&&bytes| bytes == cache).count(), 4);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_line_and_a_hint() {
    let list = "prompt = 100\noutput = 2\n";
    for (keys, expected) in [
        (inference(list), "traffic.0.inference: nothing says when requests come; give `requests` and"),
        (
            inference(&format!("{RANDOM}arrivals = [\"0 s\"]\n")),
            "inference.arrivals: there are random ones beside",
        ),
        (inference(&format!("{list}arrivals = []\n")), "inference.arrivals: no request; give"),
        (
            inference(&format!("{list}arrivals = [\"2 s\", \"1 s\"]\n")),
            "inference.arrivals: not in ascending order; sort them",
        ),
        (inference("arrivals = \"0 s\"\nprompt = []\noutput = 2\n"), "inference.prompt: no number of tokens"),
        (inference("arrivals = \"0 s\"\nprompt = 1\n"), "inference.output: missing"),
        (
            inference(RANDOM).replace("[\"10 us\", \"11 us\"]", "[]"),
            "traffic.0.inference.decode.step: no time; give at least one",
        ),
        (
            inference(RANDOM).replace("groups = 2,", "expert = 2,"),
            "no experts for 2 groups that decode; give",
        ),
        (
            inference(RANDOM).replace("kv_heads = 4", "kv_heads = 3"),
            "inference: 3 heads and a width of 64 in 2",
        ),
        (inference(RANDOM).replace("groups = 2", "groups = 9"), "20 ranks on 8 hosts"),
        (
            format!("ranks = 8\n{}", inference(RANDOM)),
            "ranks: groups x tensor of prefill and decode are 6; leave `ranks`",
        ),
        (format!("iterations = 2\n{}", inference(RANDOM)), "traffic.0.iterations: unknown key"),
        (
            format!("file = \"a.goal\"\n{}", inference(RANDOM)),
            "traffic.0.file: there is `inference` beside it",
        ),
    ] {
        let error = resolved(&keys).unwrap_err();
        assert!(error.contains(expected), "{keys}{error}");
    }
}
