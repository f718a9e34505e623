//! Files and end times of other programs (vectors/goal, vectors/astra), equal to the last number.

use anabranch_work::collective::{Algorithm, Collective, Kind, expand};
use anabranch_work::goal::{MAGIC, read_binary, read_text};
use anabranch_work::links::{Links, Message, run};
use anabranch_work::loggops::{LogGops, end_times_ns};
use anabranch_work::{Act, Builder, Graph};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn vectors(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(folder)
}

/// Files of a folder whose names end so, by name without the end. Files of other programs, which are not copied into
/// the tree, are looked for in the folder that `ANABRANCH_GOLDEN` names.
fn files(folder: &str, end: &str) -> BTreeMap<String, PathBuf> {
    let golden = std::env::var_os("ANABRANCH_GOLDEN").map(|golden| PathBuf::from(golden).join(folder));
    let mut found = BTreeMap::new();
    for folder in std::iter::once(vectors(folder)).chain(golden) {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if let Some(stem) = name.strip_suffix(end) {
                found.insert(stem.to_owned(), path.clone());
            }
        }
    }
    found
}

/// Schedules of LogGOPSim's generator, made by their rules: the lines of rank `rank`.
fn scheduled(name: &str, rank: u32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |what: &str, peer: u32, bytes: u32| {
        let (label, way) = (lines.len() + 1, if what == "send" { "to" } else { "from" });
        lines.push(format!("l{label}: {what} {bytes}b {way} {peer} tag 0"));
        label
    };
    // A rank's parent has its number without the highest bit, its children have one bit more above that.
    let parent = || (rank > 0).then(|| rank ^ (1 << rank.ilog2()));
    let children = || (0..3).map(|bit| 1 << bit).filter(|&bit| bit > rank).map(|bit| rank + bit);
    let mut requires: Vec<(usize, usize)> = Vec::new();
    match name {
        "schedgen_binomialtreereduce_8_1024" => {
            let send = parent().map(|parent| add("send", parent, 1024));
            for child in children() {
                let recv = add("recv", child, 1024);
                requires.extend(send.map(|send| (send, recv)));
            }
        }
        "schedgen_binomialtreebcast_8_1024" => {
            let recv = parent().map(|parent| add("recv", parent, 1024));
            for child in children() {
                let send = add("send", child, 1024);
                requires.extend(recv.map(|recv| (send, recv)));
            }
        }
        "schedgen_linear_alltoall_6_1024" => {
            for distance in 1..6 {
                add("send", (rank + distance) % 6, 1024);
                add("recv", (rank + 6 - distance) % 6, 1024);
            }
        }
        "schedgen_allreduce_ring_8_8192" => {
            for step in 0..14 {
                let send = add("send", (rank + 1) % 8, 1024);
                requires.extend((step > 0).then(|| (send, send - 1)));
                add("recv", (rank + 7) % 8, 1024);
            }
        }
        "schedgen_allreduce_recdoub_8_1024" => {
            for (step, distance) in [1, 2, 4, 4, 2, 1].into_iter().enumerate() {
                let send = add("send", rank ^ distance, 512 / distance);
                requires.extend((step > 0).then(|| (send, send - 1)));
                add("recv", rank ^ distance, 512 / distance);
            }
        }
        other => panic!("no rule for {other}"),
    }
    lines.extend(requires.into_iter().map(|(after, before)| format!("l{after} requires l{before}")));
    lines
}

/// The graph of a schedule: from its file, or by its rule.
fn schedule(name: &str) -> Graph {
    if !name.starts_with("schedgen_") {
        return text(&vectors("goal").join(format!("{name}.goal")));
    }
    let ranks = if name.contains("_6_") { 6 } else { 8 };
    let body = |rank| format!("rank {rank} {{\n{}\n}}\n", scheduled(name, rank).join("\n"));
    let all: String = (0..ranks).map(body).collect();
    read_text(&format!("num_ranks {ranks}\n{all}"), name).unwrap()
}

#[test]
fn schedules_made_by_rule_are_those_of_the_generator() {
    let found = files("goal", ".goal");
    for (name, path) in found.iter().filter(|(name, _)| name.starts_with("schedgen_")) {
        assert_eq!(listing(&schedule(name)), listing(&text(path)), "{name}");
    }
}

fn text(path: &Path) -> Graph {
    let name = path.file_name().unwrap().to_str().unwrap();
    read_text(&std::fs::read_to_string(path).unwrap(), name).unwrap()
}

/// The listing beside each binary: every field of every node.
fn listing(graph: &Graph) -> String {
    let numbers = |nodes: &[u32], first: u32| {
        let numbers: Vec<String> = nodes.iter().map(|node| (node - first).to_string()).collect();
        numbers.join(",")
    };
    let any = |number: Option<u32>| number.unwrap_or(u32::MAX);
    let most = |value: fn(&anabranch_work::Node) -> u8| graph.nodes().iter().map(value).max().unwrap();
    let mut ranks = String::new();
    let mut start = 6 + 16 * graph.ranks() as usize;
    for rank in 0..graph.ranks() {
        let (nodes, first) = (graph.nodes_of(rank), graph.nodes_of(rank).start);
        let roots: Vec<u32> = nodes.clone().filter(|&node| graph.needs()[node as usize] == 0).collect();
        let edges: usize =
            nodes.clone().map(|node| graph.after_end(node).len() + graph.after_start(node).len()).sum();
        let end = start + 8 + 4 * roots.len() + 39 * nodes.len() + 4 * edges;
        let count = nodes.len();
        writeln!(ranks, "rank {rank} start {start} end {end} nodes {count} roots {}", numbers(&roots, first))
            .unwrap();
        start = end;
        for node in nodes {
            let (kind, peer, size, tag) = match graph.node(node).act {
                Act::Send { to, bytes, tag } => (1, to, bytes, tag),
                Act::Recv { from, bytes, tag } => (2, any(from), bytes, any(tag)),
                Act::Calc { ps } | Act::Wait { ps } => (3, 0, ps / 1000, 0),
            };
            let of = graph.node(node);
            writeln!(
                ranks,
                "  {} depcnt {} type {kind} peer {peer} size {size} tag {tag} cpu {} nic {} \
                 releases_on_end [{}] releases_on_start [{}]",
                node - first,
                graph.needs()[node as usize],
                of.cpu,
                of.nic,
                numbers(graph.after_end(node), first),
                numbers(graph.after_start(node), first),
            )
            .unwrap();
        }
    }
    let (cpu, nic) = (most(|node| node.cpu), most(|node| node.nic));
    let bytes = start + 8;
    format!(
        "magic {MAGIC} ranks {} maxcpu_byte {cpu} maxnic_byte {nic} file_bytes {bytes}\n{ranks}",
        graph.ranks()
    )
}

#[test]
fn every_binary_is_read_as_its_listing_says_and_as_its_text() {
    let binaries = files("goal", ".bin");
    assert!(binaries.len() >= 12, "{binaries:?}");
    for (name, path) in binaries {
        let graph = read_binary(&std::fs::read(&path).unwrap(), &name).unwrap();
        let expected = std::fs::read_to_string(path.with_extension("bin.txt")).unwrap();
        assert_eq!(listing(&graph), expected, "{name}");
        assert_eq!(listing(&text(&path.with_extension("goal"))), expected, "{name}");
        graph.check().unwrap();
    }
}

#[test]
fn loggops_ends_every_host_when_loggopsim_does() {
    let table = std::fs::read_to_string(vectors("goal").join("end_times.csv")).unwrap();
    let mut rows = 0;
    for row in table.lines().filter(|row| row.contains(",loggopsim,")) {
        let fields: Vec<&str> = row.split(',').collect();
        let graph = schedule(fields[0].strip_suffix(".goal").unwrap());
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        let model = LogGops {
            latency_ns: number(2),
            overhead_ns: number(3),
            gap_ns: number(4),
            gap_ns_per_byte: number(5),
            overhead_ns_per_byte: number(6),
            eager_bytes: number(7),
        };
        let expected: Vec<u64> = fields[10].split(';').map(|end| end.parse().unwrap()).collect();
        assert_eq!(end_times_ns(&graph, model).unwrap(), expected, "{row}");
        rows += 1;
    }
    assert_eq!(rows, 85);
}

/// Links of ASTRA-sim's analytical backends (commit c459ab6): whole messages, times floored to nanoseconds, and one
/// nanosecond at the end point.
struct Analytical {
    latency_ns: f64,
    bytes_per_ns: f64,
    hops: u32,
    /// Whether each hop stores and forwards, and a link carries one message at a time.
    aware: bool,
    /// When each rank's link is free.
    free_ps: Vec<u64>,
}

impl Links for Analytical {
    fn arrival_ps(&mut self, start_ps: u64, Message { from, bytes, .. }: Message) -> u64 {
        let time_ns = bytes as f64 / self.bytes_per_ns;
        let free_ps = &mut self.free_ps[from as usize];
        let begin_ps = if self.aware { start_ps.max(*free_ps) } else { start_ps };
        *free_ps = begin_ps + time_ns.floor() as u64 * 1000;
        let hops = f64::from(self.hops);
        let way_ns = if self.aware {
            hops * (self.latency_ns + time_ns).floor()
        } else {
            (hops * self.latency_ns + time_ns).floor()
        };
        begin_ps + (way_ns as u64 + 1) * 1000
    }
}

#[test]
fn rings_end_in_the_cycle_in_which_astra_sim_ends_them() {
    let table = std::fs::read_to_string(vectors("astra").join("ring_cycles.csv")).unwrap();
    let mut rows = 0;
    for row in table.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let ranks: u32 = fields[1].parse().unwrap();
        let (network, aware) = (fields[2], fields[4] == "Aware");
        let validated = network.starts_with("HGX");
        let hops = if network.contains("Switch") || validated { 2 } else { 1 };
        let (latency_ns, gb_per_s) = if validated { (936.25, 400.0) } else { (500.0, 50.0) };
        let mut links = Analytical {
            latency_ns,
            bytes_per_ns: gb_per_s * f64::from(1 << 30) / 1e9,
            hops,
            aware,
            free_ps: vec![0; ranks as usize],
        };
        let own = 1u64 << 20;
        let (kind, bytes) = match fields[0] {
            "all_reduce" => (Kind::AllReduce, own),
            // There the size is each rank's own part.
            "all_gather" => (Kind::AllGather, own * u64::from(ranks)),
            "reduce_scatter" => (Kind::ReduceScatter, own),
            "all_to_all" => (Kind::AllToAll, own),
            other => panic!("{other}"),
        };
        let part_bytes = own / u64::from(ranks);
        // Summing costs three accesses of memory at 1600 B/ns, each floored to nanoseconds.
        let sum_ps = (part_bytes / 1600 * 3 * 1000) as f64;
        let collective = Collective {
            reduce_ps_per_byte: sum_ps / part_bytes as f64,
            ..Collective::new(kind, Algorithm::Ring, bytes)
        };
        let mut builder = Builder::new("ring", ranks).unwrap();
        let all: Vec<u32> = (0..ranks).collect();
        expand(&mut builder, &collective, &all, |_| None).unwrap();
        let graph = builder.finish();
        graph.check().unwrap();
        let times = run(&graph, &mut links);
        let end_ns = times.iter().map(|node| node.end_ps).max().unwrap() / 1000 + 1;
        assert_eq!(end_ns.to_string(), fields[7], "{row}");
        rows += 1;
    }
    assert_eq!(rows, 80);
}
