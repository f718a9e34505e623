//! Patterns of traffic: the pairs of senders and receivers.

use crate::TrafficError;
use crate::random::Stream;
use anabranch_fabric::{Fabric, Racks};

/// Pattern of traffic: which hosts send to which. Racks are the hosts of one leaf, or of leaves that share their hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Every host sends to any other host, all equally likely.
    RandomPairs,
    /// Every host sends to any host of another rack, all equally likely.
    InterRack,
    /// Every host sends to any host of another pod, all equally likely.
    InterPod,
    /// Hosts of the first half of the leaves send to any host of the second half, all equally likely.
    LeftToRight,
    /// Every host sends to a single other host: a random cycle through all hosts.
    Permutation,
    /// Every host sends to the host this many numbers further, around the end.
    Stride(u32),
    /// Hosts of all other pods send to any host of this one, all equally likely: non-uniform traffic.
    IntoPod(u32),
    /// Every host sends to every other.
    AllToAll,
    /// Pairs of source and destination, as given.
    Pairs(Vec<(u32, u32)>),
}

/// Independent source of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) host: u32,
    /// Single destination, if it has one.
    pub(crate) to: Option<u32>,
}

/// Hosts, besides itself, that a sender without a single destination must not send to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Avoid {
    Itself,
    Rack,
    Pod,
}

/// Pattern on a fabric.
#[derive(Debug)]
pub(crate) struct Senders {
    pub(crate) senders: Vec<Sender>,
    /// Hosts that senders without a single destination draw from.
    receivers: Vec<u32>,
    avoid: Avoid,
    positions: Vec<Position>,
}

/// Position of a host in the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    rack: u32,
    pod: Option<u32>,
}

impl Pattern {
    /// Applies the pattern to a fabric.
    pub(crate) fn on(&self, fabric: &Fabric, seed: u64) -> Result<Senders, TrafficError> {
        let hosts = fabric.named_hosts();
        if hosts < 2 {
            return Err(TrafficError::new(
                None,
                format!("traffic in a fabric of {hosts} hosts"),
                "give the fabric two hosts or more",
            ));
        }
        let nodes = fabric.nodes();
        let racks = Racks::of(fabric);
        let position = |(host, &rack): (u32, &u32)| {
            let leaf = racks.leaves[rack as usize][0];
            Position { rack, pod: nodes[host as usize].pod.or(nodes[leaf as usize].pod) }
        };
        let positions: Vec<Position> = (0..).zip(&racks.of).map(position).collect();
        self.check(&positions)?;
        let all = || (0..hosts).collect::<Vec<u32>>();
        let split = |receives: &dyn Fn(Position) -> bool| -> (Vec<u32>, Vec<u32>) {
            (0..hosts).partition(|&host| receives(positions[host as usize]))
        };
        let (receivers, senders, avoid) = match self {
            Self::RandomPairs => (all(), all(), Avoid::Itself),
            Self::InterRack => (all(), all(), Avoid::Rack),
            Self::InterPod => (all(), all(), Avoid::Pod),
            Self::LeftToRight => {
                let middle = racks.leaves.len() as u32 / 2;
                let (right, left) = split(&|position| position.rack >= middle);
                (right, left, Avoid::Itself)
            }
            Self::IntoPod(pod) => {
                let (inside, outside) = split(&|position| position.pod == Some(*pod));
                (inside, outside, Avoid::Itself)
            }
            Self::Permutation | Self::Stride(_) | Self::AllToAll | Self::Pairs(_) => {
                let to = |(host, to)| Sender { host, to: Some(to) };
                let senders = self.pairs(hosts, seed).into_iter().map(to).collect();
                return Ok(Senders { senders, receivers: Vec::new(), avoid: Avoid::Itself, positions });
            }
        };
        let senders = senders.into_iter().map(|host| Sender { host, to: None }).collect();
        Ok(Senders { senders, receivers, avoid, positions })
    }

    /// Pairs of a pattern in which every sender has one destination.
    fn pairs(&self, hosts: u32, seed: u64) -> Vec<(u32, u32)> {
        let further = |host: u32, by: u32| ((u64::from(host) + u64::from(by)) % u64::from(hosts)) as u32;
        match self {
            Self::Permutation => cycle(hosts, &mut Stream::new(seed, "permutation")),
            Self::Stride(stride) => (0..hosts).map(|host| (host, further(host, *stride))).collect(),
            Self::AllToAll => {
                let others = |host| (1..hosts).map(move |by| (host, further(host, by)));
                (0..hosts).flat_map(others).collect()
            }
            Self::Pairs(pairs) => pairs.clone(),
            Self::RandomPairs | Self::InterRack | Self::InterPod | Self::LeftToRight | Self::IntoPod(_) => {
                Vec::new()
            }
        }
    }

    /// Refuses a pattern in which a sender would have no receiver.
    fn check(&self, positions: &[Position]) -> Result<(), TrafficError> {
        let hosts = positions.len() as u32;
        let one_rack = positions.iter().all(|position| position.rack == positions[0].rack);
        let several_pods = positions.iter().all(|position| position.pod.is_some())
            && positions.iter().any(|position| position.pod != positions[0].pod);
        let (problem, hint) = match self {
            Self::InterRack if one_rack => {
                ("inter-rack with one rack".into(), "build a fabric of two leaves or more".into())
            }
            Self::LeftToRight if one_rack => {
                ("left-to-right with one rack".into(), "build a fabric of two leaves or more".into())
            }
            Self::InterPod if !several_pods => (
                "inter-pod in a fabric without two pods".into(),
                "build a fat-tree or another fabric with pods, or choose inter-rack".into(),
            ),
            Self::IntoPod(pod)
                if !positions.iter().any(|position| position.pod == Some(*pod))
                    || positions.iter().all(|position| position.pod == Some(*pod)) =>
            {
                (
                    format!("into pod {pod}: there is no such pod beside others"),
                    "name a pod of a fabric that has several, counted from 0".into(),
                )
            }
            Self::Stride(stride) if stride % hosts == 0 => (
                format!("stride {stride}: of {hosts} hosts each would send to itself"),
                "choose a stride that the number of hosts does not divide".into(),
            ),
            Self::Pairs(pairs) if pairs.is_empty() => {
                ("no pairs".into(), "give at least one pair of hosts".into())
            }
            Self::Pairs(pairs) => {
                match pairs.iter().find(|(src, dst)| src == dst || *src.max(dst) >= hosts) {
                    None => return Ok(()),
                    Some((src, dst)) => (
                        format!("pair of hosts {src} and {dst}"),
                        format!("name two different hosts from 0 to {}", hosts - 1),
                    ),
                }
            }
            _ => return Ok(()),
        };
        Err(TrafficError { key: Some("pattern"), problem, hint })
    }
}

/// Random cycle through all hosts: no host sends to itself (Sattolo 1986).
fn cycle(hosts: u32, stream: &mut Stream) -> Vec<(u32, u32)> {
    let mut to: Vec<u32> = (0..hosts).collect();
    for last in (1..to.len()).rev() {
        to.swap(last, stream.below(last as u64) as usize);
    }
    (0..hosts).zip(to).collect()
}

impl Senders {
    fn may(&self, src: u32, dst: u32) -> bool {
        src != dst && self.apart(src, dst)
    }

    /// Whether hosts are as far from each other as the pattern wants senders from receivers.
    fn apart(&self, src: u32, dst: u32) -> bool {
        let (from, to) = (self.positions[src as usize], self.positions[dst as usize]);
        match self.avoid {
            Avoid::Itself => true,
            Avoid::Rack => from.rack != to.rack,
            Avoid::Pod => from.pod != to.pod,
        }
    }

    /// Draws the destination of a flow, until it is one that the sender may send to.
    pub(crate) fn destination(&self, sender: Sender, stream: &mut Stream) -> u32 {
        sender.to.unwrap_or_else(|| {
            loop {
                let to = self.receivers[stream.below(self.receivers.len() as u64) as usize];
                if self.may(sender.host, to) {
                    return to;
                }
            }
        })
    }

    /// Hosts that receive. Each occurs at least once, some may repeat.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = u32> {
        self.receivers.iter().copied().chain(self.senders.iter().filter_map(|sender| sender.to))
    }

    /// Traffic between classes of racks: `class` gives the class of a host, below `classes`, and is the same for all
    /// hosts of a rack.
    pub(crate) fn crossing(&self, classes: usize, class: impl Fn(u32) -> usize) -> Crossing {
        let mut crossing = Crossing { share: 0.0, left: vec![false; classes], reached: vec![false; classes] };
        // Receivers that stand alike: a host of theirs, their class, and their number.
        let mut alike: Vec<(u32, usize, u64)> = Vec::new();
        let mut is_receiver = vec![false; self.positions.len()];
        for &receiver in &self.receivers {
            is_receiver[receiver as usize] = true;
            let position = |host: u32| self.positions[host as usize];
            match alike.last_mut().filter(|(host, ..)| position(*host) == position(receiver)) {
                Some((_, _, number)) => *number += 1,
                None => alike.push((receiver, class(receiver), 1)),
            }
        }
        // Hosts of one rack may send to the same receivers, themselves apart: one count for all of them.
        let mut counted: Option<(u32, u64, u64)> = None;
        for sender in &self.senders {
            let from = class(sender.host);
            if let Some(to) = sender.to {
                let crosses = class(to) != from;
                crossing.share += f64::from(u8::from(crosses));
                crossing.left[from] |= crosses;
                crossing.reached[class(to)] |= crosses;
                continue;
            }
            let rack = self.positions[sender.host as usize].rack;
            let (allowed, crosses) = match counted {
                Some((of, allowed, crosses)) if of == rack => (allowed, crosses),
                _ => {
                    let (mut allowed, mut crosses) = (0, 0);
                    for &(receiver, to, number) in &alike {
                        if !self.apart(sender.host, receiver) {
                            continue;
                        }
                        allowed += number;
                        let away = to != from;
                        crosses += if away { number } else { 0 };
                        crossing.reached[to] |= away;
                    }
                    // No host sends to itself.
                    let itself = self.avoid == Avoid::Itself && is_receiver[sender.host as usize];
                    (allowed - u64::from(itself), crosses)
                }
            };
            counted = Some((rack, allowed, crosses));
            crossing.left[from] |= crosses > 0;
            crossing.share += crosses as f64 / allowed as f64;
        }
        crossing.share /= self.senders.len() as f64;
        crossing
    }
}

/// Part of a pattern's traffic that goes from one class of hosts to another.
#[derive(Debug)]
pub(crate) struct Crossing {
    /// Share of the flows.
    pub(crate) share: f64,
    /// Whether flows leave each class.
    pub(crate) left: Vec<bool>,
    /// Whether flows reach each class.
    pub(crate) reached: Vec<bool>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests {
    use super::*;
    use anabranch_fabric::topology::Clos;
    use proptest::prelude::*;

    proptest! {
        /// Every pair of hosts by itself is the definition.
        #[test]
        fn crossing_traffic_is_that_of_all_pairs_of_hosts(
            sizes in (2..4u32, 1..4u32, 1..4u32),
            pattern in prop_oneof![
                Just(Pattern::RandomPairs),
                Just(Pattern::InterRack),
                Just(Pattern::InterPod),
                Just(Pattern::LeftToRight),
                Just(Pattern::IntoPod(1)),
                Just(Pattern::Permutation),
            ],
            halves: bool,
        ) {
            let (pods, leaves_per_pod, hosts_per_leaf) = sizes;
            let fabric = Clos { pods, leaves_per_pod, hosts_per_leaf, ..Clos::default() }.build().unwrap();
            let (senders, leaves) = (pattern.on(&fabric, 1).unwrap(), fabric.leaves());
            let leaf = |host: u32| leaves.partition_point(|&leaf| leaf < fabric.leaf_of(host));
            let class = |host: u32| if halves { usize::from(leaf(host) >= leaves.len() / 2) } else { leaf(host) };
            let crossing = senders.crossing(leaves.len(), class);
            let (mut share, mut left, mut reached) = (0.0, vec![false; leaves.len()], vec![false; leaves.len()]);
            for sender in &senders.senders {
                let may = |&to: &u32| sender.to.map_or_else(|| senders.may(sender.host, to), |only| only == to);
                let to: Vec<u32> = senders.receivers().filter(may).collect();
                let away: Vec<u32> =
                    to.iter().copied().filter(|&to| class(to) != class(sender.host)).collect();
                share += away.len() as f64 / to.len() as f64 / senders.senders.len() as f64;
                left[class(sender.host)] |= !away.is_empty();
                away.iter().for_each(|&to| reached[class(to)] = true);
            }
            prop_assert!((crossing.share - share).abs() < 1e-9, "{} {}", crossing.share, share);
            prop_assert_eq!(crossing.left, left);
            prop_assert_eq!(crossing.reached, reached);
        }
    }
}
