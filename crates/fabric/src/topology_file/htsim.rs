//! Reads `.topo` of htsim: a fat-tree or a leaf-spine by the sizes of its tiers.
//!
//! A header has `Nodes`, `Tiers` and `Podsize`; each `Tier n`, from 0 next to the hosts, its switches' `Radix_Down`, `Radix_Up`
//! (not the top one), and of its links downwards speed, latency and how many run in parallel (`Bundle`). What the keys mean,
//! and which switches are linked, is read in `sim/datacenter/fat_tree_topology.cpp` of Broadcom/csg-htsim.

use super::lines::{Line, lines};
use super::{Fault, TopologyFile, TopologyFileError};
use crate::topology::LinkSettings;
use crate::{Buffer, Graph, GraphLink, GraphNode, Rate, Tier};

const PS_PER_NS: u64 = 1000;
const KEYS: [&str; 9] = [
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "bundle",
    "oversubscribed",
    "queue_down",
    "queue_up",
];
/// Largest value of a key that counts: fabrics of more are refused anyway.
const COUNT_MAX: u32 = 1 << 20;

/// Values of one tier by the position of their key in [`KEYS`], each with its line.
#[derive(Clone, Copy, Default)]
struct TierValues([Option<(u32, usize)>; KEYS.len()]);

/// Sizes of the whole.
struct Sizes {
    hosts: u32,
    pod_hosts: u32,
    tiers: Vec<TierValues>,
}

impl TierValues {
    fn get(&self, key: &str) -> Option<(u32, usize)> {
        KEYS.iter().position(|known| *known == key).and_then(|at| self.0[at])
    }

    fn or(&self, key: &str, default: u32) -> u32 {
        self.get(key).map_or(default, |(value, _)| value)
    }
}

/// Reads the topology that `text` describes; errors name the file `file`. Switches are called `leaf0`, `agg0`, `spine0`, as
/// the simulator numbers them. A switch's latency counts for the links that lead into it, which is the same time on every
/// path. Queue sizes are bytes; without them ports have the buffer of `defaults`.
///
/// # Errors
/// Refuses keys that are unknown or stand twice, sizes that are missing, and sizes that do not fit each other.
pub fn parse(text: &str, file: &str, defaults: &LinkSettings) -> Result<TopologyFile, TopologyFileError> {
    let graph = sizes(text).and_then(|sizes| sizes.graph(defaults)).map_err(|fault| fault.in_file(file))?;
    Ok(TopologyFile { graph, losses: Vec::new(), warnings: Vec::new() })
}

fn sizes(text: &str) -> Result<Sizes, Fault> {
    let mut header: [Option<u32>; 3] = [None; 3];
    const HEADER: [&str; 3] = ["nodes", "tiers", "podsize"];
    let mut tiers: Vec<Option<TierValues>> = vec![None; 3];
    let mut current: Option<usize> = None;
    for line in lines(text) {
        let [word, value] = line.fields("a key and its value on each line, as in Radix_Down 8")?;
        let key = word.to_ascii_lowercase();
        let number = line.number(word, value, COUNT_MAX)?;
        if key == "tier" {
            let tier = number as usize;
            if tier > 2 || tiers[tier].is_some() {
                return Err(line.fault(
                    format!("{word} {value}: no tier, or one that stands twice"),
                    "number tiers 0, 1, 2",
                ));
            }
            tiers[tier] = Some(TierValues::default());
            current = Some(tier);
            continue;
        }
        let slot = match (current, HEADER.iter().position(|known| *known == key)) {
            (_, Some(at)) => &mut header[at],
            (Some(tier), None) if let Some(values) = &mut tiers[tier] => {
                values.set(&line, word, &key, number)?;
                continue;
            }
            _ => return Err(unknown(&line, word)),
        };
        if slot.replace(number).is_some() {
            return Err(line.fault(format!("{word} stands twice"), "keep one of them"));
        }
    }
    let required = |at: usize| {
        header[at].filter(|&number| number > 0).ok_or_else(|| {
            let hint = "begin with Nodes, Tiers and Podsize, each above 0, before the first Tier";
            Fault::new(0, format!("{} is missing", HEADER[at]), hint)
        })
    };
    let (hosts, count, pod_hosts) = (required(0)?, required(1)? as usize, required(2)?);
    if !(2..=3).contains(&count) {
        return Err(Fault::new(0, format!("Tiers {count}"), "htsim has fabrics of 2 and of 3 tiers"));
    }
    if let Some(beyond) = tiers[count..].iter().position(Option::is_some) {
        return Err(Fault::new(
            0,
            format!("Tier {} of {count}", beyond + count),
            "count it in Tiers, or leave it out",
        ));
    }
    let tiers: Option<Vec<TierValues>> = tiers.into_iter().take(count).collect();
    let tiers = tiers.ok_or_else(|| {
        Fault::new(
            0,
            format!("a tier of {count} is missing"),
            format!("describe Tier 0 to Tier {}", count - 1),
        )
    })?;
    Ok(Sizes { hosts, pod_hosts, tiers })
}

fn unknown(line: &Line<'_>, word: &str) -> Fault {
    line.fault(
        format!("`{word}` is unknown"),
        format!("known here: Nodes, Tiers, Podsize, and of a Tier {}", KEYS.join(", ")),
    )
}

impl TierValues {
    fn set(&mut self, line: &Line<'_>, word: &str, key: &str, number: u32) -> Result<(), Fault> {
        let at = KEYS.iter().position(|known| *known == key).ok_or_else(|| unknown(line, word))?;
        match self.0[at].replace((number, line.number)) {
            None => Ok(()),
            Some(_) => Err(line.fault(format!("{word} stands twice in its tier"), "keep one of them")),
        }
    }
}

impl Sizes {
    /// Value that a tier must have, above zero.
    fn required(&self, tier: usize, key: &str) -> Result<u32, Fault> {
        self.tiers[tier].get(key).map(|(value, _)| value).filter(|&value| value > 0).ok_or_else(|| {
            Fault::new(
                0,
                format!("Tier {tier}: {key} is missing"),
                "give it above 0, below the line of its Tier",
            )
        })
    }

    /// Quotient that must be whole; `of` says what is divided by what.
    fn whole(&self, number: u32, by: u32, of: &str) -> Result<u32, Fault> {
        if by > 0 && number.is_multiple_of(by) {
            return Ok(number / by);
        }
        Err(Fault::new(
            0,
            format!("{of}: {number} is no multiple of {by}"),
            "make sizes of tiers fit each other",
        ))
    }

    fn graph(&self, defaults: &LinkSettings) -> Result<Graph, Fault> {
        let three = self.tiers.len() == 3;
        let pods = self.whole(self.hosts, self.pod_hosts, "Nodes by Podsize")?;
        let leaf_hosts = self.required(0, "radix_down")?;
        let pod_leaves = self.whole(self.pod_hosts, leaf_hosts, "Podsize by Radix_Down of Tier 0")?;
        let (leaf_up, agg_bundle) = (self.required(0, "radix_up")?, self.tiers[1].or("bundle", 1));
        self.same(0, "bundle", self.tiers[0].or("bundle", 1), 1)?;
        let above = self.whole(leaf_up, agg_bundle, "Radix_Up of Tier 0 by Bundle of Tier 1")?;
        // A leaf is linked to every aggregation of its pod, and with two tiers to every switch above.
        let below = if three { pod_leaves } else { pods * pod_leaves };
        self.same(1, "radix_down", self.required(1, "radix_down")?, below * agg_bundle)?;
        let mut graph = Graph::default();
        for host in 0..self.hosts {
            graph.nodes.push(node(format!("host{host}"), Tier::Host, three.then_some(host / self.pod_hosts)));
        }
        let (leaves, first_leaf) = (pods * pod_leaves, self.hosts);
        for leaf in 0..leaves {
            graph.nodes.push(node(format!("leaf{leaf}"), Tier::Leaf, three.then_some(leaf / pod_leaves)));
        }
        let first_agg = first_leaf + leaves;
        let aggs = if three { pods * above } else { above };
        for agg in 0..aggs {
            graph.nodes.push(match three {
                true => node(format!("agg{agg}"), Tier::Aggregation, Some(agg / above)),
                false => node(format!("spine{agg}"), Tier::Spine, None),
            });
        }
        for host in 0..self.hosts {
            graph.links.push(self.link(host, first_leaf + host / leaf_hosts, 0, defaults)?);
        }
        for leaf in 0..leaves {
            let first = first_agg + if three { leaf / pod_leaves * above } else { 0 };
            for agg in first..first + above {
                for _ in 0..agg_bundle {
                    graph.links.push(self.link(first_leaf + leaf, agg, 1, defaults)?);
                }
            }
        }
        if three {
            let (agg_up, core_bundle) = (self.required(1, "radix_up")?, self.tiers[2].or("bundle", 1));
            let groups = self.whole(agg_up, core_bundle, "Radix_Up of Tier 1 by Bundle of Tier 2")?;
            self.same(2, "radix_down", self.required(2, "radix_down")?, pods * core_bundle)?;
            let first_core = first_agg + aggs;
            for core in 0..groups * above {
                graph.nodes.push(node(format!("core{core}"), Tier::Spine, None));
            }
            for agg in 0..aggs {
                for group in 0..groups {
                    for _ in 0..core_bundle {
                        let core = first_core + agg % above + above * group;
                        graph.links.push(self.link(first_agg + agg, core, 2, defaults)?);
                    }
                }
            }
        }
        self.oversubscribed(three)?;
        Ok(graph)
    }

    /// Refuses a value that another one contradicts.
    fn same(&self, tier: usize, key: &str, value: u32, expected: u32) -> Result<(), Fault> {
        if value == expected {
            return Ok(());
        }
        let line = self.tiers[tier].get(key).map_or(0, |(_, line)| line);
        let problem = format!("Tier {tier}: {key} {value}, where the other sizes make {expected}");
        Err(Fault::new(line, problem, "make sizes of tiers fit each other"))
    }

    /// Refuses an oversubscription that speeds and radices do not give.
    fn oversubscribed(&self, three: bool) -> Result<(), Fault> {
        for tier in 0..if three { 2 } else { 1 } {
            let Some((stated, _)) = self.tiers[tier].get("oversubscribed") else { continue };
            let [down, up] = [("radix_down", tier), ("radix_up", tier + 1)].map(|(radix, links)| {
                u64::from(self.tiers[tier].or(radix, 1))
                    * u64::from(self.tiers[links].or("downlink_speed_gbps", 1))
            });
            if down != up * u64::from(stated) {
                return self.same(tier, "oversubscribed", stated, (down / up.max(1)) as u32);
            }
        }
        Ok(())
    }

    /// Link from a switch or host to a switch of this tier.
    fn link(&self, below: u32, above: u32, tier: usize, defaults: &LinkSettings) -> Result<GraphLink, Fault> {
        let gbps = self.required(tier, "downlink_speed_gbps")?;
        let rate = Rate::from_bps(u64::from(gbps) * 1_000_000_000).ok_or_else(|| {
            Fault::new(0, format!("Tier {tier}: Downlink_speed_Gbps {gbps}"), "give at most 100000 Gbps")
        })?;
        let latency_ns = self.required(tier, "downlink_latency_ns")?;
        let direction = |into: Option<usize>, queue: Option<(u32, usize)>| LinkSettings {
            rate,
            delay_ps: u64::from(
                latency_ns + into.map_or(0, |tier| self.tiers[tier].or("switch_latency_ns", 0)),
            ) * PS_PER_NS,
            buffer: queue.map_or(defaults.buffer, |(bytes, _)| Buffer { bytes, packets: u32::MAX }),
            ..*defaults
        };
        let below_tier = tier.checked_sub(1);
        Ok(GraphLink {
            a: below,
            b: above,
            settings: direction(Some(tier), below_tier.and_then(|tier| self.tiers[tier].get("queue_up"))),
            back: Some(direction(below_tier, self.tiers[tier].get("queue_down"))),
        })
    }
}

fn node(name: String, tier: Tier, pod: Option<u32>) -> GraphNode {
    GraphNode { name, tier: Some(tier), pod }
}
