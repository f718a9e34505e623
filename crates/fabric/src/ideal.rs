//! Ideal completion time of a flow: alone in the fabric as built.

use crate::{Fabric, LinkState, NextHops, Rate, Serialization};
use std::collections::HashMap;

/// One link of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Time that bytes take to be sent.
    pub serialization: Serialization,
    /// Propagation delay, in picoseconds.
    pub delay_ps: u64,
}

/// All links at the same distance from the source on the shortest paths to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Rate of the fastest link, with the smallest delay of all links.
    pub fastest: Hop,
    /// Sum of the links' rates, in bits per second.
    pub together_bps: u64,
    /// Number of links.
    pub links: u32,
}

impl Stage {
    /// Time that bytes in frames take if they are spread over all links in any pieces.
    fn time_ps(&self, bytes: u64) -> u64 {
        let ps = u128::from(bytes) * 8_000_000_000_000 / u128::from(self.together_bps);
        u64::try_from(ps).unwrap_or(u64::MAX)
    }
}

/// Links of all shortest paths between two hosts of the fabric as built, stage by stage.
///
/// Paths to leaves that are linked alike differ in their last links only ([`NextHops::class`]), and paths from one pod meet
/// in the same switches: so each set of switches is left once for all leaves of a class, not once for each pair of leaves.
#[derive(Debug)]
pub struct Stages {
    hops: NextHops,
    /// Sets of switches (nodes, ascending) that paths reach at once, and the number of each.
    sets: Vec<Vec<u32>>,
    number_of: HashMap<Vec<u32>, u32>,
    /// Whether the leaves of a class have stages of their own from a set on.
    apart: HashMap<(u32, u32), bool>,
    /// Stage from a set to the next, by the set and the destination, or its class where the leaves of a class share it.
    next: HashMap<(u32, Towards), Option<(Stage, u32)>>,
}

/// End of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Towards {
    /// Any leaf of a class.
    Class(u32),
    /// One destination, by its number.
    Leaf(u32),
}

impl Stages {
    /// Prepares the stages of a fabric; they are computed when they are asked for.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Self {
        Self {
            hops: NextHops::shortest(fabric, &LinkState::of(fabric)),
            sets: Vec::new(),
            number_of: HashMap::new(),
            apart: HashMap::new(),
            next: HashMap::new(),
        }
    }

    /// Lists the stages from one host of the same fabric to another. If their leaves have no path between them, these are
    /// the hosts' own links.
    pub fn of(&mut self, fabric: &Fabric, src: u32, dst: u32) -> Vec<Stage> {
        let (from, to) = (fabric.leaf_of(src), fabric.leaf_of(dst));
        let mut all = vec![stage(fabric, &[fabric.ports_of(src)[0]])];
        if let Some(destination) = self.hops.destination(to) {
            let mut set = self.number(vec![from]);
            while let Some((stage, next)) = self.leave(fabric, set, destination) {
                all.push(stage);
                set = next;
            }
        }
        all.push(stage(fabric, &[fabric.ports()[fabric.ports_of(dst)[0] as usize].reverse]));
        all
    }

    /// The stage from a set of switches on, and the set where it ends; nothing at the destination.
    fn leave(&mut self, fabric: &Fabric, set: u32, destination: u32) -> Option<(Stage, u32)> {
        let class = self.hops.class(destination);
        let Self { hops, sets, .. } = self;
        let nodes = &sets[set as usize];
        let is_apart = *self.apart.entry((set, class)).or_insert_with(|| {
            let is_of_class = |node| hops.destination(node).is_some_and(|leaf| hops.class(leaf) == class);
            nodes.iter().any(|&node| hops.distinguishes(node, class) || is_of_class(node))
        });
        let towards = if is_apart { Towards::Leaf(destination) } else { Towards::Class(class) };
        if let Some(&known) = self.next.get(&(set, towards)) {
            return known;
        }
        let ports: Vec<u32> = nodes.iter().flat_map(|&node| hops.ports(node, destination)).collect();
        let mut ends: Vec<u32> = ports.iter().map(|&port| fabric.ports()[port as usize].to).collect();
        ends.sort_unstable();
        ends.dedup();
        let next = (!ports.is_empty()).then(|| (stage(fabric, &ports), self.number(ends)));
        self.next.insert((set, towards), next);
        next
    }

    /// Number of a set of switches.
    fn number(&mut self, set: Vec<u32>) -> u32 {
        *self.number_of.entry(set).or_insert_with_key(|set| {
            self.sets.push(set.clone());
            self.sets.len() as u32 - 1
        })
    }
}

fn stage(fabric: &Fabric, ports: &[u32]) -> Stage {
    let links = || ports.iter().map(|&port| &fabric.ports()[port as usize]);
    let fastest = links().map(|link| link.rate).max().unwrap_or(Rate::FASTEST);
    Stage {
        fastest: Hop {
            serialization: fastest.serialization(),
            delay_ps: links().map(|link| link.delay_ps).min().unwrap_or(0),
        },
        together_bps: links().map(|link| link.rate.bps()).sum(),
        links: ports.len() as u32,
    }
}

/// Ideal completion time of a flow of `full` frames of `full_bytes` and then one of `last_bytes` (both with preamble
/// and gap). No load balancer that keeps to shortest paths can be faster, however many of them it spreads the flow
/// over.
///
/// Over a single path it equals [`path_fct_ps`]. Over several, frames pass each stage no faster than all its links
/// together: the first frame has reached a stage over the fastest links, and the last one goes on from there over the
/// fastest. In a flow of few frames the last may overtake the others, because it is shorter.
#[must_use]
pub fn ideal_fct_ps(stages: &[Stage], full: u64, full_bytes: u32, last_bytes: u32) -> u64 {
    if stages.iter().all(|stage| stage.links == 1) || full == 0 {
        let path: Vec<Hop> = stages.iter().map(|stage| stage.fastest).collect();
        return path_fct_ps(&path, full, full_bytes, last_bytes);
    }
    let frame_ps = |stage: &Stage, bytes| stage.fastest.serialization.frame_ps(bytes);
    let delay_ps: u64 = stages.iter().map(|stage| stage.fastest.delay_ps).sum();
    let mut behind_ps: u64 = stages.iter().map(|stage| frame_ps(stage, last_bytes)).sum();
    // When a full frame, and the last one, can be at a stage first.
    let (mut full_at_ps, mut last_at_ps) =
        (0u64, full.saturating_mul(stages.first().map_or(0, |own| frame_ps(own, full_bytes))));
    let mut ideal_ps = 0u64;
    for stage in stages {
        behind_ps -= frame_ps(stage, last_bytes);
        let (full_ps, all_ps) = if stage.links == 1 {
            let full_ps = full.saturating_mul(frame_ps(stage, full_bytes));
            (full_ps, full_ps.saturating_add(frame_ps(stage, last_bytes)))
        } else {
            let bytes = full.saturating_mul(full_bytes.into());
            (stage.time_ps(bytes), stage.time_ps(bytes.saturating_add(last_bytes.into())))
        };
        let through_ps =
            full_at_ps.saturating_add(full_ps).max(full_at_ps.min(last_at_ps).saturating_add(all_ps));
        ideal_ps = ideal_ps.max(through_ps.saturating_add(behind_ps));
        full_at_ps += frame_ps(stage, full_bytes);
        last_at_ps = last_at_ps.saturating_add(frame_ps(stage, last_bytes));
    }
    ideal_ps.saturating_add(delay_ps)
}

/// Least completion time of a flow whose frames go in no order, over any paths: as many as said of each size in bytes (with
/// preamble and gap). No load balancer that keeps to shortest paths can be faster.
///
/// All frames pass each stage, the first of them not before the smallest could be there, and the last has the rest of its
/// path before it.
#[must_use]
pub fn least_fct_ps(stages: &[Stage], frames: &[(u64, u32)]) -> u64 {
    let smallest_bytes = frames.iter().map(|&(_, bytes)| bytes).min().unwrap_or(0);
    let bytes: u64 = frames.iter().map(|&(count, bytes)| count * u64::from(bytes)).sum();
    let smallest_ps = |stage: &Stage| stage.fastest.serialization.frame_ps(smallest_bytes);
    let mut behind_ps: u64 = stages.iter().map(smallest_ps).sum();
    let (mut before_ps, mut least_ps) = (0, 0);
    for stage in stages {
        behind_ps -= smallest_ps(stage);
        let all_ps = if stage.links == 1 {
            frames.iter().map(|&(count, bytes)| count * stage.fastest.serialization.frame_ps(bytes)).sum()
        } else {
            stage.time_ps(bytes)
        };
        least_ps = least_ps.max(before_ps + all_ps.max(smallest_ps(stage)) + behind_ps);
        before_ps += smallest_ps(stage);
    }
    least_ps + stages.iter().map(|stage| stage.fastest.delay_ps).sum::<u64>()
}

/// Time until the last byte has arrived, in picoseconds, if `full` frames of `full_bytes` and then one of
/// `last_bytes` (both with preamble and gap) are sent one after the other over an empty path: no window, no
/// handshake, no acknowledgements. Every node stores a frame whole before it forwards it.
///
/// The last frame leaves a hop when it has arrived there and the frame before it has left. Both times are sums over the
/// path: the last of n equal frames leaves hop k at the time one frame takes to leave it plus n - 1 times the slowest
/// hop so far.
#[must_use]
pub fn path_fct_ps(path: &[Hop], full: u64, full_bytes: u32, last_bytes: u32) -> u64 {
    // When the first full frame, and the last full one, are wholly out of each hop, and the last frame of all.
    let (mut first_ps, mut slowest_ps, mut last_ps) = (0, 0, 0);
    let mut delay_ps = 0;
    for hop in path {
        let full_ps = hop.serialization.frame_ps(full_bytes);
        first_ps += full_ps;
        slowest_ps = slowest_ps.max(full_ps);
        let behind_ps = full.saturating_sub(1).saturating_mul(slowest_ps);
        let free_ps = if full == 0 { 0 } else { behind_ps.saturating_add(first_ps + delay_ps) };
        last_ps = free_ps.max(last_ps).saturating_add(hop.serialization.frame_ps(last_bytes) + hop.delay_ps);
        delay_ps += hop.delay_ps;
    }
    last_ps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Clos, Dragonfly, FatTree, LeafSpine, LinkSettings};
    use crate::{Graph, GraphLink, GraphNode};
    use proptest::prelude::*;

    fn gbps(rate: u64) -> Rate {
        Rate::from_bps(rate * 1_000_000_000).unwrap()
    }

    #[test]
    fn stages_hold_all_links_of_shortest_paths() {
        let leaf_spine = LeafSpine { spines: 3, ..LeafSpine::default() }.build().unwrap();
        let links = |fabric: &Fabric, dst| {
            Stages::new(fabric).of(fabric, 0, dst).iter().map(|stage| stage.links).collect::<Vec<_>>()
        };
        assert_eq!(links(&leaf_spine, 1), [1, 1]);
        assert_eq!(links(&leaf_spine, leaf_spine.hosts() - 1), [1, 3, 3, 1]);
        let clos = Clos::default().build().unwrap();
        assert_eq!(links(&clos, clos.hosts() - 1).len(), 6);
    }

    #[test]
    fn a_stage_is_as_fast_as_its_links_together() {
        // Hosts of 40 Gbit/s, two spines of 10 and 25 Gbit/s.
        let node = |name: &str| GraphNode { name: name.to_owned(), tier: None, pod: None };
        let nodes = ["host0", "host1", "leaf0", "leaf1", "spine0", "spine1"].map(node).to_vec();
        let link = |a, b, rate, delay_ps| {
            let settings = LinkSettings { rate: gbps(rate), delay_ps, ..LinkSettings::default() };
            GraphLink { a, b, settings, back: None }
        };
        let links = vec![
            link(0, 2, 40, 10),
            link(1, 3, 40, 20),
            link(2, 4, 10, 5),
            link(4, 3, 10, 5),
            link(2, 5, 25, 7),
            link(5, 3, 25, 7),
        ];
        let fabric = Graph { nodes, links }.build().unwrap();
        let stages = Stages::new(&fabric).of(&fabric, 0, 1);
        let together: Vec<u64> = stages.iter().map(|stage| stage.together_bps / 1_000_000_000).collect();
        assert_eq!(together, [40, 35, 35, 40]);
        // 1,000 frames of 1538 bytes at 35 Gbit/s; one before them at 40 and 25, one after them at 25 and 40.
        let ideal_ps = ideal_fct_ps(&stages, 999, 1538, 1538);
        let expected_ps = 1_538_000 * 8_000 / 35 + 2 * 1538 * 200 / 2 + 1538 * 320 + 1538 * 200 + 40;
        assert!(ideal_ps.abs_diff(expected_ps) < 1538 * 200, "{ideal_ps} {expected_ps}");
    }

    #[test]
    fn a_flow_that_writes_for_ever_takes_the_longest_time_there_is() {
        let fabric = LeafSpine::default().build().unwrap();
        let mut stages = Stages::new(&fabric);
        for dst in [1, fabric.hosts() - 1] {
            assert_eq!(ideal_fct_ps(&stages.of(&fabric, 0, dst), u64::MAX / 1448, 1538, 1538), u64::MAX);
        }
    }

    /// Stages that were computed for other hosts before are those of a fresh start.
    fn are_as_alone(fabric: &Fabric) {
        let mut stages = Stages::new(fabric);
        for (src, dst) in (0..fabric.hosts()).flat_map(|src| (0..fabric.hosts()).map(move |dst| (src, dst))) {
            let alone = Stages::new(fabric).of(fabric, src, dst);
            assert_eq!(stages.of(fabric, src, dst), alone, "{src} to {dst}");
        }
    }

    #[test]
    fn what_is_known_of_others_changes_nothing() {
        are_as_alone(&FatTree { k: 4, ..FatTree::default() }.build().unwrap());
        are_as_alone(&Clos::default().build().unwrap());
        are_as_alone(&Dragonfly::default().build().unwrap());
    }

    proptest! {
        /// Rings, chords and hosts at any switch: leaves that are ways to others of their class, and paths that join late.
        #[test]
        fn what_is_known_of_others_changes_nothing_in_any_graph(
            switches in 2u32..9,
            chords in prop::collection::vec((0u32..9, 0u32..9, 1u64..4), 0..12),
            hosts in prop::collection::vec(0u32..9, 2..9),
        ) {
            let node = |name: String| GraphNode { name, tier: None, pod: None };
            let count = hosts.len() as u32;
            let names = (0..count).map(|host| format!("host{host}"));
            let nodes = names.chain((0..switches).map(|switch| format!("switch{switch}"))).map(node).collect();
            let link = |a, b, rate| {
                GraphLink { a, b, settings: LinkSettings { rate: gbps(rate), ..LinkSettings::default() }, back: None }
            };
            let own = (0..count).map(|host| link(host, count + hosts[host as usize] % switches, 10));
            let chain = (1..switches).map(|switch| link(count + switch - 1, count + switch, 10));
            let ends = chords.iter().map(|&(a, b, rate)| (a % switches, b % switches, rate));
            let chords = ends.filter(|&(a, b, _)| a != b).map(|(a, b, rate)| link(count + a, count + b, rate));
            are_as_alone(&Graph { nodes, links: own.chain(chain).chain(chords).collect() }.build().unwrap());
        }

        /// Compares with the recurrence, frame by frame.
        #[test]
        fn agrees_with_every_frame_on_its_way(
            hops in prop::collection::vec((0usize..5, 0u64..3_000_000), 1..7),
            full in 0u64..40,
            full_bytes in 84u32..1539,
            last_share in 0.0f64..1.0,
        ) {
            const RATES: [u64; 5] = [1_000_000_000, 10_000_000_000, 25_000_000_000, 40_000_000_000, 3_000_000_000];
            let path: Vec<Hop> = hops
                .iter()
                .map(|&(rate, delay_ps)| Hop { serialization: Rate::from_bps(RATES[rate]).unwrap().serialization(), delay_ps })
                .collect();
            let last_bytes = 84.max((f64::from(full_bytes) * last_share) as u32);
            let mut free_ps = vec![0u64; path.len()];
            let mut arrived_ps = 0;
            for frame in 0..=full {
                let bytes = if frame == full { last_bytes } else { full_bytes };
                arrived_ps = 0;
                for (hop, free_ps) in path.iter().zip(&mut free_ps) {
                    let end_ps = arrived_ps.max(*free_ps) + hop.serialization.frame_ps(bytes);
                    *free_ps = end_ps;
                    arrived_ps = end_ps + hop.delay_ps;
                }
            }
            prop_assert_eq!(path_fct_ps(&path, full, full_bytes, last_bytes), arrived_ps);
        }
    }

    proptest! {
        /// Spreads frames over parallel paths in any order; none of them beats the ideal.
        #[test]
        fn nobody_is_faster(
            hosts in (0usize..5, 0usize..5),
            spines in prop::collection::vec((0usize..5, 0usize..5, 0u64..2_000_000, 0u64..2_000_000), 1..5),
            choices in prop::collection::vec(any::<prop::sample::Index>(), 1..30),
            full_bytes in 84u32..1539,
            last_share in 0.0f64..1.0,
        ) {
            const RATES: [u64; 5] = [1, 3, 10, 25, 40];
            let serialization = |rate: usize| gbps(RATES[rate]).serialization();
            let last_bytes = 84.max((f64::from(full_bytes) * last_share) as u32).min(full_bytes);
            let full = choices.len() - 1;
            let (src, dst) = (serialization(hosts.0), serialization(hosts.1));
            let mut free_ps = vec![(0, 0); spines.len()];
            let mut sent_ps = 0;
            let mut met = Vec::new();
            for (frame, choice) in choices.iter().enumerate() {
                let bytes = if frame == full { last_bytes } else { full_bytes };
                sent_ps += src.frame_ps(bytes);
                let path = choice.index(spines.len());
                let (up, down, up_ps, down_ps) = spines[path];
                let (up_free, down_free) = &mut free_ps[path];
                *up_free = sent_ps.max(*up_free) + serialization(up).frame_ps(bytes);
                *down_free = (*up_free + up_ps).max(*down_free) + serialization(down).frame_ps(bytes);
                met.push((*down_free + down_ps, bytes));
            }
            met.sort_unstable();
            let end_ps = met.iter().fold(0, |free_ps, &(at_ps, bytes)| at_ps.max(free_ps) + dst.frame_ps(bytes));
            let own = |rate: usize| Stage {
                fastest: Hop { serialization: serialization(rate), delay_ps: 0 },
                together_bps: RATES[rate] * 1_000_000_000,
                links: 1,
            };
            let of = |links: Vec<(usize, u64)>| Stage {
                fastest: Hop {
                    serialization: serialization(links.iter().map(|link| link.0).max().unwrap()),
                    delay_ps: links.iter().map(|link| link.1).min().unwrap(),
                },
                together_bps: links.iter().map(|link| RATES[link.0] * 1_000_000_000).sum(),
                links: links.len() as u32,
            };
            let stages = [
                own(hosts.0),
                of(spines.iter().map(|spine| (spine.0, spine.2)).collect()),
                of(spines.iter().map(|spine| (spine.1, spine.3)).collect()),
                own(hosts.1),
            ];
            let ideal_ps = ideal_fct_ps(&stages, full as u64, full_bytes, last_bytes);
            prop_assert!(ideal_ps <= end_ps, "{} {}", ideal_ps, end_ps);
            let least_ps = least_fct_ps(&stages, &[(full as u64, full_bytes), (1, last_bytes)]);
            prop_assert!(least_ps <= ideal_ps, "{} {}", least_ps, ideal_ps);
            // Equal frames have no order: nothing is lost.
            let equal = [full as u64 + 1, 0].map(|more| (more, full_bytes));
            let exact_ps = ideal_fct_ps(&stages, full as u64, full_bytes, full_bytes);
            prop_assert_eq!(least_fct_ps(&stages, &equal), exact_ps);
        }
    }
}
