//! The controller of DBB: dispatching cycles for pairs of leaves, each made once for all pairs that look alike.

use crate::dbb::dispatch::Dispatch;
use crate::dbb::parameters::{CycleOrder, Dbb, PairBandwidth, PairCycle};
use crate::dbb::pick::Counter;
use anabranch_fabric::{Fabric, LinkState, NextHops};
use anabranch_plan::FlowLink;
use anabranch_split::PlanError;
use anabranch_traffic::random::Stream;
use std::collections::HashMap;
use std::rc::Rc;

/// Part of a maximum flow that rounding may lose without a warning.
pub(crate) const TOLERATED_LOSS: f64 = 1e-3;

/// Switches' cycle for a pair of leaves. Switches and links have numbers of the pair's own, the source's
/// being zero.
pub(crate) struct Cycle {
    /// Links in turn at each switch. Empty where none of the pair's packets come.
    pub(crate) turns: Vec<Box<[u16]>>,
    /// Packets of the cycle.
    packets: u64,
    /// Part of the links' maximum flow that it cannot carry.
    loss: f64,
}

/// A pair of leaves and its cycle.
pub(crate) struct Pair {
    pub(crate) cycle: Rc<Cycle>,
    /// Its switches, counted from the fabric's first, ascending, with their numbers in the cycle.
    switches: Box<[(u32, u16)]>,
    /// The port that each link of the cycle is.
    pub(crate) ports: Box<[u32]>,
}

impl Pair {
    /// The number of a switch in the cycle.
    pub(crate) fn number(&self, switch: u32) -> Option<usize> {
        let at = self.switches.binary_search_by_key(&switch, |&(known, _)| known).ok()?;
        Some(self.switches[at].1.into())
    }
}

/// All that cycles are made from.
pub(crate) struct Controller {
    dbb: Dbb,
    seed: u64,
    fabric: Fabric,
    links: LinkState,
    hops: NextHops,
    /// Number of pairs of leaves whose shortest paths lead over each port. Empty where it does not matter.
    users: Vec<u64>,
    /// Cycles by the links they are made for, bandwidths without a common divisor, and the sink's number.
    known: HashMap<(Vec<FlowLink>, u32), Rc<Cycle>>,
}

/// The links on the shortest paths of a pair.
pub(crate) struct PairPaths {
    /// Switches (nodes) by number: by stage, then as the fabric numbers them.
    pub(crate) nodes: Vec<u32>,
    pub(crate) ports: Vec<u32>,
}

impl Controller {
    /// Controller of `fabric`; what its parameters draw at random is drawn from `seed`.
    pub(crate) fn new(dbb: Dbb, fabric: &Fabric, seed: u64) -> Self {
        let links = LinkState::of(fabric);
        let hops = NextHops::shortest(fabric, &links);
        let mut controller =
            Self { dbb, seed, fabric: fabric.clone(), links, hops, users: Vec::new(), known: HashMap::new() };
        controller.count_users();
        controller
    }

    /// The leaves, in the order of their numbers as destinations.
    pub(crate) fn leaves(&self) -> &[u32] {
        &self.hops.leaves
    }

    pub(crate) fn parameters(&self) -> &Dbb {
        &self.dbb
    }

    /// Links died, came back or changed their rate.
    pub(crate) fn learn(&mut self, links: &LinkState) {
        self.links.clone_from(links);
        self.hops = NextHops::shortest(&self.fabric, links);
        self.count_users();
    }

    fn count_users(&mut self) {
        if self.dbb.bandwidth != PairBandwidth::Shared {
            return;
        }
        let mut users = vec![0; self.fabric.ports().len()];
        let leaves = self.hops.leaves.len() as u32;
        for (from, to) in (0..leaves).flat_map(|from| (0..leaves).map(move |to| (from, to))) {
            for port in self.paths(from, to).ports {
                users[port as usize] += 1;
            }
        }
        self.users = users;
    }

    /// The shortest paths from leaf number `from` to leaf number `to`.
    pub(crate) fn paths(&self, from: u32, to: u32) -> PairPaths {
        let mut paths = PairPaths { nodes: Vec::new(), ports: Vec::new() };
        let mut stage = vec![self.hops.leaves[from as usize]];
        while !stage.is_empty() {
            let first = paths.ports.len();
            paths.ports.extend(stage.iter().flat_map(|&node| self.hops.ports(node, to)));
            paths.nodes.append(&mut stage);
            stage.extend(paths.ports[first..].iter().map(|&port| self.fabric.ports()[port as usize].to));
            stage.sort_unstable();
            stage.dedup();
        }
        paths
    }

    /// A link of a pair, its ends by the numbers that `number` gives to nodes, in bits per second.
    pub(crate) fn link(&self, port: u32, number: impl Fn(u32) -> u32) -> FlowLink {
        let (rate, users) = (self.links.rate[port as usize], self.users.get(port as usize));
        let ends = &self.fabric.ports()[port as usize];
        let bandwidth = match self.dbb.bandwidth {
            PairBandwidth::Full | PairBandwidth::Shared => rate.bps() / users.copied().unwrap_or(1).max(1),
            PairBandwidth::Alike => 1,
        };
        FlowLink { from: number(ends.from), to: number(ends.to), bandwidth }
    }

    /// The cycle from leaf number `from` to leaf number `to`; nothing if no path is left.
    ///
    /// # Errors
    /// A fabric that has none.
    pub(crate) fn pair(&mut self, from: u32, to: u32) -> Result<Option<Pair>, PlanError> {
        let PairPaths { nodes, ports } = self.paths(from, to);
        if ports.is_empty() {
            return Ok(None);
        }
        let hosts = self.fabric.hosts();
        let mut switches: Vec<(u32, u16)> =
            nodes.iter().zip(0u16..).map(|(&node, number)| (node - hosts, number)).collect();
        switches.sort_unstable();
        let mut pair = Pair {
            cycle: Rc::new(Cycle { turns: Vec::new(), packets: 0, loss: 0.0 }),
            switches: switches.into(),
            ports: ports.into(),
        };
        let number = |node: u32| pair.number(node - hosts).unwrap_or(0) as u32;
        let mut links: Vec<FlowLink> = pair.ports.iter().map(|&port| self.link(port, number)).collect();
        FlowLink::reduce(&mut links);
        let sink = number(self.hops.leaves[to as usize]);
        let key = (links, sink);
        // An order that is drawn is each pair's own.
        let known = self.known.get(&key).filter(|_| self.dbb.order != CycleOrder::Drawn);
        let cycle = match known {
            Some(known) => Rc::clone(known),
            None => {
                let PairCycle { dispatch, loss, .. } = self.dbb.dispatch(&key.0, 0, sink)?;
                let mut stream =
                    Stream::of_entity(self.seed, "dbb order", from * self.leaves().len() as u32 + to);
                let mut turns = |number| {
                    let links = turns(&self.dbb, &dispatch, number, &mut stream);
                    links.into_iter().map(|link| link as u16).collect()
                };
                let turns = (0..nodes.len() as u32).map(&mut turns).collect();
                let cycle = Rc::new(Cycle { turns, packets: dispatch.cycle, loss });
                self.known.insert(key, Rc::clone(&cycle));
                cycle
            }
        };
        pair.cycle = cycle;
        Ok(Some(pair))
    }

    /// The pair that loses most of its maximum flow to rounding, in a sentence, if any loses more than a thousandth.
    ///
    /// # Errors
    /// A fabric in which some pair of leaves has no cycle although paths connect it.
    pub(crate) fn loss(mut self) -> Result<Option<String>, PlanError> {
        let leaves = self.leaves().len() as u32;
        let (mut losing, mut worst) = (0, None::<(Rc<Cycle>, u32, u32)>);
        for (from, to) in (0..leaves).flat_map(|from| (0..leaves).map(move |to| (from, to))) {
            let Some(Pair { cycle, .. }) = self.pair(from, to)? else { continue };
            losing += usize::from(cycle.loss > TOLERATED_LOSS);
            if cycle.loss > worst.as_ref().map_or(TOLERATED_LOSS, |(worst, ..)| worst.loss) {
                worst = Some((cycle, from, to));
            }
        }
        let name = |leaf: u32| &self.fabric.nodes()[self.hops.leaves[leaf as usize] as usize].name;
        Ok(worst.map(|(cycle, from, to)| {
            format!(
                "dbb: the cycle from {} to {} has {} packets and carries {:.1} % of the maximum flow, the least of \
                 {losing} pairs of leaves whose exact cycle is longer; raise routing.scheme.max_n, or give links rates \
                 with a common divisor",
                name(from),
                name(to),
                cycle.packets,
                100.0 * (1.0 - cycle.loss)
            )
        }))
    }
}

/// Links in turn of a switch of a cycle; those that packets draw from stand once.
fn turns(dbb: &Dbb, dispatch: &Dispatch, switch: u32, stream: &mut Stream) -> Vec<u32> {
    let mut sent = dispatch.sent(switch);
    match (dbb.switches.counter, dbb.order) {
        (Counter::Shared | Counter::Independent, CycleOrder::Laid) => dispatch.turns(switch),
        (Counter::Shared | Counter::Independent, CycleOrder::Drawn) => {
            for last in (1..sent.len()).rev() {
                sent.swap(last, stream.below(last as u64 + 1) as usize);
            }
            sent
        }
        (Counter::Shared | Counter::Independent, CycleOrder::Blocks) => {
            sent.sort_unstable();
            sent
        }
        (Counter::Drawn, _) => {
            sent.sort_unstable();
            sent.dedup();
            sent
        }
    }
}
