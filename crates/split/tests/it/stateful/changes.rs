//! Changes of weights and failures: the flows that move, and those that are forgotten.

use anabranch_split::technique::row;
use anabranch_split::{Batch, Group, Members, Parameters, Weights};

const FLOWS: u64 = 20_000;

fn key(i: u64) -> u64 {
    let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let z = (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 32)
}

fn members(weights: &[u64], dead: &[usize]) -> Members {
    let up = (0..weights.len()).map(|i| !dead.contains(&i)).collect();
    Members::new(Weights::new(weights.to_vec()).unwrap(), up).unwrap()
}

fn group(name: &str, pairs: &[(&str, &str)], weights: &[u64]) -> Group {
    Group::new(name, &members(weights, &[]), &Parameters::new(pairs.iter().copied())).unwrap()
}

fn pick(group: &Group, flows: &[u64], times_ns: &[u64]) -> Vec<u16> {
    let mut out = vec![u16::MAX; flows.len()];
    group.pick_batch(&Batch { flows, bytes: &[], times_ns }, &mut out);
    out
}

fn counts(picked: &[u16], n: usize) -> Vec<usize> {
    (0..n).map(|i| picked.iter().filter(|&&m| usize::from(m) == i).count()).collect()
}

type Setting = (&'static str, &'static [(&'static str, &'static str)]);

/// All techniques that keep a flow where it is, with the parameters that make them.
const PINNING: [Setting; 8] = [
    ("wrr", &[("pin_on_change", "true")]),
    ("wrr", &[("pin_on_change", "true"), ("cache", "list"), ("order", "block")]),
    ("wfq", &[]),
    ("wfq", &[("unit", "packets")]),
    ("deficit", &[]),
    ("deficit", &[("idle_timeout_ms", "0")]),
    ("deficit-bytes", &[]),
    ("byte-flowcell", &[]),
];

#[test]
fn known_flows_keep_their_path_and_only_a_dead_path_loses_its_own() {
    for (name, pairs) in PINNING {
        let flows = (0..FLOWS / if pairs.len() > 2 { 20 } else { 1 }).map(key).collect::<Vec<_>>();
        let group = group(name, pairs, &[40, 30, 20, 0]);
        let first = pick(&group, &flows, &[]);
        assert!(counts(&first, 4)[..3].iter().all(|&c| c > 0), "{name}");
        assert_eq!(counts(&first, 4)[3], 0, "{name}: a path without weight got flows");
        let backwards = flows.iter().rev().copied().collect::<Vec<_>>();
        let mut second = pick(&group, &backwards, &[]);
        second.reverse();
        assert_eq!(first, second, "{name}: same flows, other paths");

        group.update(&members(&[1, 30, 60, 5, 9], &[])).unwrap();
        assert_eq!(pick(&group, &flows, &[]), first, "{name}: a change of weights moved flows");

        group.update(&members(&[1, 30, 60, 5, 9], &[1])).unwrap();
        let third = pick(&group, &flows, &[]);
        for (before, after) in first.iter().zip(&third) {
            assert!(*after != 1 && (before == after || *before == 1), "{name}: {before} -> {after}");
        }
        group.update(&members(&[1, 30, 60, 5, 9], &[])).unwrap();
        assert_eq!(pick(&group, &flows, &[]), third, "{name}: the path's return moved flows");
    }
}

#[test]
fn published_wrr_flushes_on_weights_and_evicts_on_death() {
    for cache in ["table", "list"] {
        let flows = (0..900).map(key).collect::<Vec<_>>();
        let wrr = group("wrr", &[("cache", cache), ("order", "block")], &[4, 3, 2]);
        let first = pick(&wrr, &flows, &[]);
        assert_eq!(first[..12], [0, 0, 0, 0, 1, 1, 1, 2, 2, 0, 0, 0]);
        assert_eq!(counts(&first, 3), [400, 300, 200]);

        wrr.update(&members(&[4, 3, 2], &[0])).unwrap();
        let second = pick(&wrr, &flows, &[]);
        assert!(first.iter().zip(&second).all(|(a, b)| *b != 0 && (a == b || *a == 0)));
        assert_eq!(counts(&second, 3), [0, 540, 360]);

        wrr.update(&members(&[1, 1, 1], &[])).unwrap();
        let third = pick(&wrr, &flows, &[]);
        assert_eq!(third[..6], [0, 1, 2, 0, 1, 2]);
        assert_eq!(counts(&third, 3), [300, 300, 300]);
    }
}

#[test]
fn wfq_serves_the_least_served() {
    let flows = (0..9).map(key).collect::<Vec<_>>();
    // By hand from "smallest sent / weight, ties to the lowest": 0/4 0/3 0/2, then 1/4, 1/3, 2/4 = 1/2 ...
    let wfq = group("wfq", &[], &[4, 3, 2]);
    assert_eq!(pick(&wfq, &flows, &[]), [0, 1, 2, 0, 1, 0, 2, 1, 0]);
    // Ten packets of the first flow make its path the most served.
    let wfq = group("wfq", &[("unit", "packets")], &[1, 1]);
    let mut packets = vec![key(0); 10];
    packets.extend((1..12).map(key));
    let got = pick(&wfq, &packets, &[]);
    assert_eq!(counts(&got[..10], 2), [10, 0]);
    assert_eq!(got[10..], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
}

#[test]
fn idle_flows_are_over_and_their_place_is_free() {
    let ms = 1_000_000;
    let deficit = group("deficit", &[("idle_timeout_ms", "10")], &[1, 1]);
    assert_eq!(pick(&deficit, &[key(1), key(2), key(3)], &[0, 0, 0]), [0, 1, 0]);
    // Flow 1 is kept alive; 2 and 3 end. With 1 on path 0 alone, the next two go to 1 and then 0.
    assert_eq!(pick(&deficit, &[key(1), key(1)], &[8 * ms, 16 * ms]), [0, 0]);
    let next = pick(&deficit, &[key(4), key(5), key(6)], &[17 * ms, 17 * ms, 17 * ms]);
    assert_eq!(counts(&next, 2), [1, 2]);
    // A flow that returns after its end is a new one: paths hold 2 and 2, so the lowest is due.
    assert_eq!(pick(&deficit, &[key(2)], &[18 * ms]), [0]);
    // Without a clock nothing ends.
    let deficit = group("deficit", &[("idle_timeout_ms", "10")], &[1, 1]);
    assert_eq!(pick(&deficit, &[key(1), key(2), key(3), key(1)], &[]), [0, 1, 0, 0]);
}

#[test]
fn a_long_run_keeps_memory_bounded() {
    for (name, pairs) in
        [("deficit", &[("idle_timeout_ms", "10")]), ("byte-flowlet", &[("gap_ns", "10000000")])]
    {
        let group = group(name, pairs, &[4, 3, 2]);
        // A new flow every 10 us: about a thousand are active.
        let flows = (0..1_000_000).map(key).collect::<Vec<_>>();
        let times_ns = (0..1_000_000).map(|i| i * 10_000).collect::<Vec<_>>();
        pick(&group, &flows, &times_ns);
        assert!(group.state_bytes() < 100_000, "{name}: {} bytes", group.state_bytes());
    }
}

#[test]
fn exceptions_keep_theirs_and_others_follow_the_hash() {
    let flows = (0..FLOWS).map(key).collect::<Vec<_>>();
    let group = group("hash-exceptions", &[], &[40, 30, 20, 10]);
    let first = pick(&group, &flows, &[]);
    assert_eq!(pick(&group, &flows, &[]), first, "same flows, other paths");
    group.update(&members(&[40, 30, 20, 10], &[3])).unwrap();
    let second = pick(&group, &flows, &[]);
    assert_eq!(counts(&second, 4)[3], 0);
    group.update(&members(&[40, 30, 20, 10], &[])).unwrap();
    let third = pick(&group, &flows, &[]);
    let moved = first.iter().zip(&third).filter(|(a, b)| a != b).count();
    // All but the exceptions that the dead path lost are where they were.
    assert!(moved < flows.len() / 100, "{moved} moved");
}

#[test]
fn parameters_out_of_range_are_refused_with_a_mend() {
    let refused = [
        ("wrr", "order", "random"),
        ("wrr", "cache", "none"),
        ("deficit", "idle_timeout_ms", "999999999999"),
        ("hash-exceptions", "tau", "-1"),
        ("hash-exceptions", "tau", "NaN"),
        ("byte-flowcell", "cell_bytes", "0"),
        ("byte-flowlet", "gap_ns", "0"),
    ];
    for (name, parameter, value) in refused {
        let parameters = Parameters::new([(parameter, value)]);
        let Err(error) = Group::new(name, &members(&[1, 1], &[]), &parameters) else {
            panic!("{name} took {parameter}={value}")
        };
        assert!(error.problem.starts_with(parameter), "{error}");
    }
    let prime = members(&[99_999_989, 2], &[]);
    assert!(Group::new("wrr", &prime, &Parameters::default()).is_err());
    assert!(Group::new("deficit", &prime, &Parameters::default()).is_ok());
}

#[test]
fn one_to_1024_paths_and_what_is_said_of_them() {
    for n in [1usize, 2, 1024] {
        for name in
            ["wrr", "wfq", "deficit", "hash-exceptions", "deficit-bytes", "byte-flowcell", "byte-flowlet"]
        {
            assert_eq!(row(name).unwrap().name, name);
            let group = group(name, &[], &vec![3; n]);
            let flows = (0..4096).map(key).collect::<Vec<_>>();
            let empty = group.explain(flows[0]);
            assert_eq!(empty, group.explain(flows[0]));
            let got = counts(&pick(&group, &flows, &[]), n);
            assert_eq!(got.iter().sum::<usize>(), 4096, "{name}");
            if name != "hash-exceptions" {
                assert_eq!(got.iter().max(), got.iter().min(), "{name}: equal weights, unequal counts");
            }
            assert_ne!(group.explain(flows[0]), empty, "{name}");
            if let Some(shares) = group.shares() {
                assert!(shares.iter().all(|s| (s - 1.0 / n as f64).abs() < 1e-12));
            }
        }
    }
}
