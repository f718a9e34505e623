//! The canonical text reads as the same scenario, and arbitrary text never panics.

use anabranch_form::Position;
use anabranch_scenario::{Scenario, reference};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// Traffic enough for a scenario.
const TRAFFIC: &str = "[[traffic]]\nload = 0.5\nduration = \"1 ms\"\n";

/// Keys, each with values that it takes; any selection together is a scenario or says why not.
const CHOICES: &[(&str, &[&str])] = &[
    ("name", &["a", "\"two words\"", "\"\\\"quoted\\\"\""]),
    ("seed", &["0", "7", "9223372036854775807"]),
    (
        "fabric.kind",
        &[
            "leaf-spine",
            "fat-tree",
            "clos",
            "vl2",
            "dumbbell",
            "rail-optimised",
            "multi-plane",
            "dragonfly",
            "slim-fly",
            "graph",
            "graphml",
            "ns3",
            "htsim",
        ],
    ),
    ("fabric.hosts_per_leaf", &["2", "9"]),
    ("fabric.node", &["[{ name = \"a\", tier = \"host\", pod = 1 }]"]),
    (
        "fabric.edge",
        &["[{ from = \"a\", to = \"b c\" }, { from = \"x\", to = \"y\", back = { rate = \"1 Gbps\" } }]"],
    ),
    ("fabric.file", &["a.graphml"]),
    ("fabric.link.rate", &["25 Gbps", "2.5 Gbps"]),
    ("fabric.host_link.rate", &["100 Gbps"]),
    ("fabric.host_link.delay", &["0 s", "1.5 us"]),
    ("fabric.link.buffer", &["unlimited", "100 packets", "1 MiB"]),
    ("fabric.link.ecn", &["off", "100 KB", "{ low = \"30 KB\", high = \"90 KB\", probability = 0.1 }"]),
    (
        "change.0",
        &["{ link = \"leaf0-spine1\", set = \"down\" }", "{ switch = [\"spine0\"], blackhole = 0.25 }"],
    ),
    ("change.0.at", &["5 ms"]),
    ("routing.balance", &["wcmp", "spray", "weighted", "valo", "letflow", "drill", "wrr", "ideal"]),
    (
        "routing.balance",
        &[
            "flowbender",
            "plb",
            "uec-mixed",
            "reps",
            "weighted-presto",
            "dbb",
            "saps",
            "wino",
            "luopan",
            "clove+valo",
            "vms",
            "hermes",
            "omniscient",
            "tdlb",
        ],
    ),
    ("routing.scheme.threshold", &["0.05", "0.3"]),
    ("routing.scheme.entropies", &["256", "100"]),
    ("routing.scheme.order", &["random"]),
    ("routing.granularity", &["flow", "packet", "flowlet", "flowcell"]),
    ("routing.weights", &["equal", "capacity", "{ \"leaf0>spine1\" = 3 }"]),
    ("routing.table", &["wcmp", "turns", "min-move", "shortest-queue", "deficit"]),
    ("routing.entries", &["16"]),
    ("routing.delay", &["10 ms"]),
    (
        "routing.hash",
        &[
            "{ algorithm = \"toeplitz\" }",
            "[{ at = \"leaf\", seed = \"switch\" }, { at = [\"spine\", \"leaf0\"], fields = \"src_port\", offset = 3 }]",
        ],
    ),
    ("transport.kind", &["newreno", "cubic", "dctcp"]),
    ("transport.gain", &["0.125"]),
    ("transport.hystart", &["false"]),
    ("transport.min_rto", &["200 us", "1 s"]),
    ("transport.reorder", &["none", "{ hold = \"20 us\" }", "{ hold = \"1 ms\", flowcell = \"1 KB\" }"]),
    (
        "traffic.pattern",
        &["random-pairs", "{ stride = 3 }", "{ into_pod = 1 }", "{ pairs = [[0, 9], [9, 0]] }"],
    ),
    (
        "traffic.sizes",
        &["data-mining", "3 KB", "{ least = \"1 B\", most = \"1 MB\" }", "{ file = \"a.csv\" }"],
    ),
    ("traffic.convention", &["step"]),
    ("traffic.reference", &["host", "bisection"]),
    ("traffic.capacity", &["160 Gbps"]),
    ("traffic.start", &["1 us"]),
    ("measure.from", &["100 us", "0 s"]),
    ("measure.to", &["200 us", "50 us"]),
    ("traffic.transport", &["{ kind = \"udp\", rate = \"1 Gbps\" }", "{ kind = \"cubic\" }"]),
    (
        "traffic.1",
        &[
            "{ kind = \"once\", sizes = \"5 MB\" }",
            "{ kind = \"incast\", servers = 20, jobs = 100, clients = [3] }",
            "{ kind = \"incast\", duration = \"1 ms\", jobs_per_s = 7.5 }",
            "{ kind = \"ring-all-reduce\", workers = [0, 1, 2], compute = \"1 ms\" }",
            "{ kind = \"parameter-server\", workers = [0, 1], servers = [5], iterations = 3 }",
            "{ kind = \"flow-list\", file = \"a b.csv\", digest = \"00\" }",
            "{ kind = \"capture\", file = \"a.pcap\" }",
            "{ flows_per_s = 5e6, flows = 1_000 }",
        ],
    ),
    ("framing.mss", &["8948 B"]),
    ("record.interval", &["0 s", "10 ms"]),
    ("record.queues", &["leaf0>spine1", "[\"leaf0\", \"spine1>leaf0\"]"]),
    ("record.windows", &["[3, 4]"]),
    ("record.events", &["1", "1_000"]),
    ("record.omit", &["1 ms"]),
    ("record.captures", &["leaf0>spine1"]),
    ("record.capture_packets", &["7"]),
    ("record.queue_interval", &["1 us"]),
    ("stop.at", &["1 s"]),
];

fn selection() -> impl Strategy<Value = Vec<(String, String)>> {
    let one = |&(key, values): &(&'static str, &'static [&'static str])| {
        proptest::option::weighted(0.12, proptest::sample::select(values))
            .prop_map(move |value| value.map(|value| (key.to_owned(), value.to_owned())))
    };
    CHOICES.iter().map(one).collect::<Vec<_>>().prop_map(|chosen| chosen.into_iter().flatten().collect())
}

/// Reads, writes, reads again.
fn check(text: &str, overrides: &[(String, String)]) -> Option<Scenario> {
    let scenario = Scenario::parse(text, "first.toml", overrides).ok()?;
    let canonical = scenario.to_toml();
    let again = Scenario::parse(&canonical, "again.toml", &[]).unwrap();
    assert_eq!(again, scenario, "{canonical}");
    assert_eq!(again.to_toml(), canonical);
    Some(scenario)
}

#[test]
fn most_selections_are_scenarios() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut read = 0;
    for _ in 0..1000 {
        let overrides = selection().new_tree(&mut runner).unwrap().current();
        read += usize::from(check(TRAFFIC, &overrides).is_some());
    }
    assert!(read > 300, "{read} of 1000 were scenarios: the round trip is not tested");
}

/// Parameters of schemes, by the name of the scheme.
const PARAMETERS: &[(&str, &[(&str, &str)])] = &[
    (
        "clove-ecn",
        &[
            ("gap", "1 ms"),
            ("selection", "random"),
            ("half_rtt", "5 us"),
            ("cut", "0.25"),
            ("congested", "1 us"),
        ],
    ),
    ("clove-int", &[("gap", "1 ms"), ("ageing", "1 ms"), ("period", "10 us"), ("alpha", "0.5")]),
    ("clove+valo", &[("gap", "1 ms"), ("half_rtt", "5 us"), ("cut", "0.000001"), ("congested", "1 us")]),
    ("vms", &[("round", "5 us"), ("lost_after", "5 ms"), ("gain", "0.25"), ("weight_min", "0.01")]),
    ("vms-window", &[("round", "5 us"), ("window", "9"), ("window_min", "2"), ("window_max", "99")]),
    ("vms+valo", &[("key", "flow"), ("gain", "1")]),
    ("hermes", &[("rtt_base", "0 s"), ("rtt_low", "10 s"), ("rtt_high", "180 us"), ("better_rtt", "100 us")]),
    ("hermes", &[("by_marks", "false"), ("any_good", "true"), ("by_flows", "true"), ("ageing", "66 us")]),
    (
        "hermes",
        &[("marked_high", "0.3"), ("better_marked", "0.1"), ("sent_min", "64 KB"), ("rate_max", "0.5")],
    ),
    (
        "hermes",
        &[("move_probability", "0.5"), ("guard", "100 us"), ("probe_interval", "0 s"), ("forgive", "1 s")],
    ),
    ("hermes", &[("timeouts", "1"), ("loss_high", "0.02"), ("loss_interval", "1 ms"), ("loss_packets", "9")]),
];

#[test]
fn parameters_of_schemes_round_trip() {
    for (scheme, parameters) in PARAMETERS {
        let mut overrides = vec![("routing.balance".to_owned(), (*scheme).to_owned())];
        let mut before = check(TRAFFIC, &overrides).unwrap();
        for (key, value) in *parameters {
            overrides.push((format!("routing.scheme.{key}"), (*value).to_owned()));
            let after = check(TRAFFIC, &overrides).unwrap();
            assert_ne!(after.routing.scheme, before.routing.scheme, "{scheme}: {key}");
            assert_eq!(after.routing.balance(), Some(*scheme));
            before = after;
        }
    }
}

/// The default of `ack_delay` follows `min_rto`; a value that was given does not.
#[test]
fn a_given_ack_delay_is_written_as_it_was_read() {
    for (rto, delay) in [("200 us", "1 ms"), ("200 us", "150 us"), ("5 ms", "2 s"), ("200 us", "10 us")] {
        for prefix in ["transport", "traffic.0.transport"] {
            let key = |name: &str, value: &str| (format!("{prefix}.{name}"), value.to_owned());
            let overrides = [key("kind", "cubic"), key("min_rto", rto), key("ack_delay", delay)];
            let canonical = check(TRAFFIC, &overrides).unwrap().to_toml();
            assert!(canonical.contains(&format!("ack_delay = \"{delay}\"")), "{prefix}: {canonical}");
        }
    }
    let given = [("transport.min_rto".to_owned(), "200 us".to_owned())];
    assert!(check(TRAFFIC, &given).unwrap().to_toml().contains("ack_delay = \"100 us\""));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn selections_round_trip(overrides in selection()) {
        check(TRAFFIC, &overrides);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*") {
        check(&text, &[]);
    }

    #[test]
    fn arbitrary_toml_never_panics(
        lines in prop::collection::vec("(\\[\\[?)?(fabric|traffic|change|record|link|rate|at|set)(\\]\\]?|\\.[a-z]{0,3}| = (1|\"1 us\"|\\[\\]|\\{\\}|0x1F|1e9|nan|true))?", 0..12)
    ) {
        check(&lines.join("\n"), &[]);
    }

    #[test]
    fn arbitrary_overrides_never_panic(
        key in "(fabric|traffic|change|seed|routing)(\\.([0-9]|[a-z]{1,8}))*\\.?",
        value in "\\PC*",
    ) {
        if let Err(error) = Scenario::parse(TRAFFIC, "s.toml", &[(key.clone(), value.clone())]) {
            let position = Position { source: format!("-o {key}={value}").into(), line: None };
            prop_assert!(error.position == position || error.problem.contains("missing"), "{error}");
        }
    }
}

#[test]
fn the_reference_page_is_the_one_that_is_printed() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    assert!(
        std::fs::read_to_string(page).unwrap() == reference(),
        "docs/scenario.md is not what the keys say: cargo run -p anabranch-scenario --example reference > \
         docs/scenario.md"
    );
}
