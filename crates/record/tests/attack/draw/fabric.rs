//! Fabrics of every kind, small, with links of any rate, delay, buffer and marking.

use super::Framing;
use crate::dice::{Dice, quoted, rate, size, time};
use crate::draft::{Draft, Table};

const KINDS: [&str; 13] = [
    "leaf-spine",
    "fat-tree",
    "clos",
    "vl2",
    "dumbbell",
    "graph",
    "graphml",
    "multi-plane",
    "dragonfly",
    "rail-optimised",
    "ns3",
    "htsim",
    "slim-fly",
];
const PRESETS: [&str; 3] = ["lossy", "lossless-roce", "uec-trimming"];
/// GraphML files of this repository's tests.
const FILES: [&str; 4] = [
    "crates/fabric/tests/graphml/igraph-tiers.graphml",
    "crates/fabric/tests/graphml/networkx-directed.graphml",
    "crates/fabric/tests/graphml/networkx-multigraph.graphml",
    "crates/scenario/tests/two.graphml",
];
const NICE_BPS: [u64; 6] =
    [1_000_000_000, 10_000_000_000, 25_000_000_000, 40_000_000_000, 100_000_000_000, 400_000_000_000];
pub(super) const LEAST_BPS: u64 = 64_000;
pub(super) const MOST_BPS: u64 = 100_000_000_000_000;

pub(super) fn draw(dice: &mut Dice, framing: Framing, calm: bool, draft: &mut Draft) {
    let kind =
        KINDS[[0, 0, 0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 8, 9, 9, 10, 11, 12][dice.below(21) as usize]];
    let base_bps = if calm && dice.chance(0.7) { dice.pick(&NICE_BPS) } else { some_rate(dice) };
    let mut table = Table::new("[fabric]");
    table.set("kind", quoted(kind));
    let (counts, tiers): (&[(&str, u64, u64)], &[&str]) = match kind {
        "leaf-spine" => (
            &[("leaves", 1, 5), ("spines", 1, 5), ("hosts_per_leaf", 1, 5), ("parallel_links", 1, 3)],
            &["host_link", "uplink"],
        ),
        "fat-tree" => (&[("hosts_per_leaf", 1, 3)], &["host_link", "uplink"]),
        "clos" => (
            &[
                ("pods", 1, 3),
                ("leaves_per_pod", 1, 3),
                ("aggregations_per_pod", 1, 3),
                ("cores_per_aggregation", 1, 3),
                ("hosts_per_leaf", 1, 3),
            ],
            &["host_link", "uplink", "core_link"],
        ),
        "vl2" => {
            (&[("leaves", 1, 5), ("intermediates", 1, 3), ("hosts_per_leaf", 1, 4)], &["host_link", "uplink"])
        }
        "dumbbell" => (&[("hosts_per_side", 1, 5)], &["host_link", "bottleneck"]),
        "multi-plane" => (
            &[("planes", 1, 4), ("leaves", 1, 3), ("spines", 1, 3), ("hosts_per_leaf", 1, 4)],
            &["host_link", "uplink"],
        ),
        "rail-optimised" => (
            &[
                ("segments", 1, 2),
                ("servers_per_segment", 1, 3),
                ("accelerators_per_server", 1, 4),
                ("spines", 1, 3),
            ],
            &["host_link", "uplink", "scale_up"],
        ),
        "dragonfly" => (
            &[("routers_per_group", 1, 3), ("global_links_per_router", 1, 2), ("hosts_per_router", 1, 3)],
            &["host_link", "local_link", "global_link"],
        ),
        "slim-fly" => (&[("hosts_per_router", 1, 2)], &["host_link", "router_link"]),
        _ => (&[], &[]),
    };
    match kind {
        "fat-tree" => table.set("k", dice.pick(&["2", "4", "4"])),
        "vl2" => table.set("aggregations", dice.pick(&["2", "4", "6"])),
        "dragonfly" if dice.chance(0.5) => table.set("groups", dice.between(1, 3).to_string()),
        "slim-fly" => table.set("q", dice.pick(&["3", "3", "5"])),
        "graphml" => table.set("file", quoted(dice.pick(&FILES))),
        "ns3" => table.set("file", quoted("crates/fabric/tests/topologies/servers.txt")),
        "htsim" => table.set("file", quoted("crates/fabric/tests/topologies/three-tiers.topo")),
        _ => {}
    }
    for &(key, least, most) in counts {
        table.set(key, dice.between(least, most).to_string());
    }
    if matches!(kind, "leaf-spine" | "clos" | "fat-tree" | "vl2") && dice.chance(0.2) {
        let links = dice.between(2, 3);
        table.set("links_per_host", links.to_string());
        // Racks are of whole leaves.
        match kind {
            "leaf-spine" | "vl2" => table.set("leaves", (links * dice.between(1, 2)).to_string()),
            "clos" => table.set("leaves_per_pod", (links * dice.between(1, 2)).to_string()),
            _ => {}
        }
    }
    link(dice, "link.", base_bps, framing, calm, &mut table);
    for tier in tiers {
        if dice.chance(0.4) {
            let bps = another_rate(dice, base_bps);
            link(dice, &format!("{tier}."), bps, framing, calm, &mut table);
        }
    }
    if calm && dice.chance(0.5) {
        table.set("preset", quoted(dice.pick(&PRESETS)));
    } else if !calm && dice.chance(0.25) {
        switches(dice, framing, &mut table);
    }
    draft.tables.push(table);
    if kind == "graph" {
        graph(dice, base_bps, framing, calm, draft);
    }
}

/// Draws classes of traffic: a preset, and some of its keys.
fn switches(dice: &mut Dice, framing: Framing, table: &mut Table) {
    let preset = dice.pick(&PRESETS);
    table.set("preset", quoted(preset));
    if dice.chance(0.5) {
        table.set("switch.ecn_at", quoted(dice.pick(&["enqueue", "dequeue"])));
    }
    if dice.chance(0.3) {
        table.set("switch.data.service", quoted("strict"));
    }
    match preset {
        "uec-trimming" => {
            if dice.chance(0.3) {
                table.set("switch.shared.size", size(dice.magnitude(8 * framing.frame_bytes, 10_000_000)));
            }
            if dice.chance(0.3) {
                table.set("switch.trim_size", size(dice.between(64, 300)));
            }
        }
        "lossy" => {
            table.set("switch.shared.size", size(dice.magnitude(8 * framing.frame_bytes, 10_000_000)));
            table.set("switch.shared.alpha", format!("{:?}", dice.magnitude(50, 1000) as f64 / 50.0));
            table.set("switch.data.trim", dice.pick(&["true", "false"]));
        }
        _ => {
            if dice.chance(0.9) {
                table.set("switch.shared.size", quoted("100 GB"));
                table.set("switch.shared.pause", quoted("1000 s"));
            }
            table.set(
                "switch.shared.pause_alpha",
                format!("{:?}", 1.0 / dice.magnitude(1, 100_000_000) as f64),
            );
            table.set("switch.shared.refresh", quoted(dice.pick(&["timer", "timer", "arrival"])));
        }
    }
}

/// Draws any rate, round ones first.
fn some_rate(dice: &mut Dice) -> u64 {
    match dice.below(10) {
        0..5 => dice.pick(&NICE_BPS),
        5 => dice.pick(&[LEAST_BPS, MOST_BPS, 100_000, 1_000_000]),
        _ => dice.magnitude(LEAST_BPS, MOST_BPS),
    }
}

/// Draws a rate near `base_bps`, or sometimes any rate.
pub(super) fn another_rate(dice: &mut Dice, base_bps: u64) -> u64 {
    match dice.below(10) {
        0..5 => {
            let (times, of) = dice.pick(&[(1, 10), (1, 4), (1, 2), (1, 1), (2, 1), (4, 1), (10, 1)]);
            (base_bps / of * times).clamp(LEAST_BPS, MOST_BPS)
        }
        5..9 => dice.magnitude((base_bps / 20).max(LEAST_BPS), (base_bps.saturating_mul(20)).min(MOST_BPS)),
        _ => some_rate(dice),
    }
}

/// The network card of hosts.
pub(super) fn draw_host(dice: &mut Dice, framing: Framing, calm: bool, draft: &mut Draft) {
    let mut table = Table::new("[host]");
    if calm {
        table.set("nic", quoted(dice.pick(&["fair", "fifo", "fifo", "rdma"])));
    } else if dice.chance(0.6) {
        if dice.chance(0.6) {
            table.set("limit", room(dice, framing));
        }
    } else if dice.chance(0.4) {
        table.set("nic", quoted("rdma"));
    } else {
        table.set("nic", quoted("fifo"));
        if dice.chance(0.6) {
            table.set("buffer", room(dice, framing));
        }
        if dice.chance(0.6) {
            table.set("ecn", marking(dice, framing, calm));
        }
    }
    if dice.chance(0.3) {
        table.set("jitter", "false");
    }
    draft.tables.push(table);
}

/// Draws the keys of a link, each with `prefix` before it.
fn link(dice: &mut Dice, prefix: &str, bps: u64, framing: Framing, calm: bool, table: &mut Table) {
    table.set(&format!("{prefix}rate"), rate(bps));
    if dice.chance(0.5) {
        let frame_ps = (u128::from(framing.frame_bytes * 8) * 1_000_000_000_000 / u128::from(bps)) as u64;
        let delay_ps = match dice.below(4) {
            0 => 0,
            1 => dice.pick(&[1, 500_000, 5_000_000]),
            2 => dice.magnitude(1, 2_000_000_000),
            _ => dice.magnitude(1, 20 * frame_ps + 1),
        };
        table.set(&format!("{prefix}delay"), time(delay_ps));
    }
    if dice.chance(0.6) {
        table.set(&format!("{prefix}buffer"), if calm { quoted("unlimited") } else { room(dice, framing) });
    }
    if dice.chance(0.5) {
        table.set(&format!("{prefix}ecn"), marking(dice, framing, calm));
    }
}

/// Draws room for waiting frames, sometimes less than a frame needs.
fn room(dice: &mut Dice, framing: Framing) -> String {
    let packets = dice.magnitude(1, 200);
    match dice.below(12) {
        0..2 => quoted("unlimited"),
        2..7 => format!("\"{packets} packets\""),
        7..11 => size((framing.frame_bytes * packets + dice.below(2)).min(u32::MAX.into())),
        _ => size(dice.magnitude(1, framing.frame_bytes)),
    }
}

/// Draws when to mark; in the calm without a ramp, which drops what cannot be marked.
fn marking(dice: &mut Dice, framing: Framing, calm: bool) -> String {
    let low = framing.frame_bytes * dice.below(20);
    let high = low + dice.magnitude(1, 20 * framing.frame_bytes);
    match dice.below(if calm { 3 } else { 4 }) {
        0 => quoted("off"),
        1 => format!("\"{} packets\"", dice.magnitude(1, 100)),
        2 => size(dice.magnitude(1, 100 * framing.frame_bytes)),
        _ => {
            format!("{{ low = {}, high = {}, probability = {:.2} }}", size(low), size(high), dice.unit())
        }
    }
}

/// Draws a random tree of switches with some further links, and hosts at some of them.
fn graph(dice: &mut Dice, base_bps: u64, framing: Framing, calm: bool, draft: &mut Draft) {
    let switches = dice.between(1, 6);
    let mut edges = Vec::new();
    for switch in 1..switches {
        edges.push((format!("s{}", dice.below(switch)), format!("s{switch}")));
    }
    for _ in 0..dice.below(2 * switches) {
        let (a, b) = (dice.below(switches), dice.below(switches));
        if a != b {
            edges.push((format!("s{a}"), format!("s{b}")));
        }
    }
    let hosts = dice.between(2, 8);
    // Some hosts have several links, to one switch or more, and some a scale-up port.
    let servers = if dice.chance(0.3) { dice.between(1, 2) } else { 0 };
    for host in 0..hosts {
        let links = if dice.chance(0.2) { dice.between(2, 3) } else { 1 };
        edges.extend((0..links).map(|_| (format!("h{host}"), format!("s{}", dice.below(switches)))));
        if servers > 0 && dice.chance(0.7) {
            edges.push((format!("h{host}"), format!("up{}", dice.below(servers))));
        }
    }
    let linked: Vec<String> = (0..servers)
        .map(|server| format!("up{server}"))
        .filter(|name| edges.iter().any(|(_, to)| to == name))
        .collect();
    for (from, to) in edges {
        let mut edge = Table::new("[[fabric.edge]]");
        edge.set("from", quoted(&from));
        edge.set("to", quoted(&to));
        if dice.chance(0.4) {
            edge.set("rate", rate(another_rate(dice, base_bps)));
        }
        if dice.chance(0.2) {
            let mut back = Table::new("");
            let bps = another_rate(dice, base_bps);
            link(dice, "", bps, framing, calm, &mut back);
            let keys: Vec<String> = back.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            edge.set("back", format!("{{ {} }}", keys.join(", ")));
        }
        draft.tables.push(edge);
    }
    // Names give hosts their tier: a switch may have one link too.
    for host in 0..hosts {
        let mut node = Table::new("[[fabric.node]]");
        node.set("name", quoted(&format!("h{host}")));
        node.set("tier", quoted("host"));
        draft.tables.push(node);
    }
    for name in linked {
        let mut node = Table::new("[[fabric.node]]");
        node.set("name", quoted(&name));
        node.set("tier", quoted("scale-up"));
        draft.tables.push(node);
    }
}
