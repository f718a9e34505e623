//! Detours: the first router of a packet sends it straight to the router of its destination, or first to a router of a group on
//! the way to neither. Both halves are shortest paths by the switches' tables.

use crate::Granularity;
use crate::switches::kept::Kept;
use crate::switches::port_env::{leaf_of_switches, stream};
use crate::tables::table::TableBalancer;
use crate::task::{Task, table_of};
use crate::valiant::pick::{Detours, MINIMAL};
use anabranch_fabric::{DetourGroups, Fabric, LinkState, NextHops};
use anabranch_plan::selection_hash;
use anabranch_sim::{
    Choice, GroupPlan, Junction, Network, Outcome, Packet, PacketId, SimulationError, SwitchBalancer, marks,
};
use anabranch_split::picks::{Pick, Uniform, uniform};
use anabranch_split::{Env, PlanError, capability, picks};
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

/// Most members that [`anabranch_split::picks::FlowTable`] holds.
const MEMBERS_MAX: usize = 2046;

/// [`Packet::tag`] of a packet whose first router has not decided, and of one that goes straight to its destination. All others
/// are on the way to leaf number tag - 2.
const FRESH: u32 = 0;
const STRAIGHT: u32 = 1;
const FIRST_LEAF: u32 = 2;

/// Rule by which a first router picks the path of a packet.
pub(crate) trait DetourRule: Copy + 'static {
    /// The pick.
    type Pick<'a>: Pick<Plan = Paths<'a, Self>, State = ()>;

    /// Whether the backlog of a path is that of all its ports, and not of its first.
    fn reads_all_ports(&self) -> bool {
        false
    }
}

/// All routers.
struct DetourBalancer<R> {
    rule: R,
    routing: Routing,
    routers: Vec<Router>,
    tables: TableBalancer<Uniform>,
    granularity: Granularity,
    detoured: u64,
}

/// One leaf as a packet's first router.
struct Router {
    kept: Kept,
    stream: Pcg32,
}

/// Groups, and the shortest paths as routing believes them.
struct Routing {
    fabric: Fabric,
    hops: NextHops,
    /// Number of each switch as destination, if it is a leaf.
    leaf_of: Vec<Option<u32>>,
    /// Salt of each switch.
    salts: Vec<u32>,
    /// Group of each leaf. Those that detours may lead by come first.
    group_of: Vec<u32>,
    /// Leaves of each group that detours may lead by.
    groups: Vec<Vec<u32>>,
    /// Rate of the fastest port between switches, in bits per second.
    fastest_bps: u64,
}

/// The paths of one packet at its first router.
pub(crate) struct Paths<'a, R> {
    rule: &'a R,
    routing: &'a Routing,
    from: u32,
    to: u32,
    /// Hashed header fields, by which switches choose among next hops.
    entropy: u32,
}

impl Routing {
    fn new(fabric: &Fabric, salts: Vec<u32>, name: &str) -> Result<Self, SimulationError> {
        let hops = NextHops::shortest(fabric, &LinkState::of(fabric));
        let Some(groups) = DetourGroups::of(fabric, &hops) else {
            return Err(SimulationError::new(
                format!(
                    "routing: {name} takes detours by other leaves, and no two leaves of this fabric are linked"
                ),
                "use a fabric whose leaves are linked, such as dragonfly or slim-fly, or random-path in this one",
            ));
        };
        let between =
            || fabric.ports().iter().filter(|port| port.from >= fabric.hosts() && port.to >= fabric.hosts());
        let fastest_bps = between().map(|port| port.rate.bps()).max().unwrap_or(1);
        let DetourGroups { of_leaf: group_of, members: groups } = groups;
        if groups.len() >= MEMBERS_MAX {
            return Err(SimulationError::new(
                format!("routing: {} groups that {name} may take a detour by", groups.len()),
                format!(
                    "use a fabric of fewer than {MEMBERS_MAX} groups; where routers have none, as in slim-fly, each is one"
                ),
            ));
        }
        let leaf_of = leaf_of_switches(fabric, hops.leaves.iter().copied());
        Ok(Self { fabric: fabric.clone(), hops, leaf_of, salts, group_of, groups, fastest_bps })
    }

    /// Ports of the path from leaf `from` to leaf `to` that the hash of these header fields chooses.
    fn path(&self, from: u32, to: u32, entropy: u32) -> impl Iterator<Item = u32> + '_ {
        let (mut node, end) = (self.hops.leaves[from as usize], self.hops.leaves[to as usize]);
        std::iter::from_fn(move || {
            if node == end {
                return None;
            }
            let hash = selection_hash(entropy, self.salts[self.hops.switch(node)]);
            let next = || self.hops.ports(node, to);
            let port = next().nth(uniform::index(hash, next().count()))?;
            node = self.fabric.ports()[port as usize].to;
            Some(port)
        })
    }

    /// The router of `group` to which a detour leads from leaf `from`: the first of the group on the shortest path to one of
    /// its routers, which the hash chooses.
    fn entry(&self, from: u32, group: usize, entropy: u32) -> u32 {
        let leaves = &self.groups[group];
        let hash = selection_hash(entropy, self.salts[self.hops.switch(self.hops.leaves[from as usize])]);
        let to = leaves[uniform::index(hash.rotate_left(16), leaves.len())];
        let leaf_behind = |port: u32| self.leaf_of[self.hops.switch(self.fabric.ports()[port as usize].to)];
        let inside = |leaf: &u32| self.group_of[*leaf as usize] as usize == group;
        self.path(from, to, entropy).filter_map(leaf_behind).find(inside).unwrap_or(to)
    }
}

impl<R> Paths<'_, R> {
    /// The rule by which one of them is picked.
    pub(crate) fn rule(&self) -> &R {
        self.rule
    }

    /// Groups of the first and of the last router.
    fn ends(&self) -> [u32; 2] {
        [self.from, self.to].map(|leaf| self.routing.group_of[leaf as usize])
    }

    /// Intermediate router of a detour; nothing on the minimal path.
    fn entry(&self, member: u16) -> Option<u32> {
        let group = usize::from(member.checked_sub(MINIMAL + 1)?);
        Some(self.routing.entry(self.from, group, self.entropy))
    }

    /// Ports of a path.
    fn ports(&self, member: u16) -> impl Iterator<Item = u32> + '_ {
        let by = self.entry(member).unwrap_or(self.from);
        let Self { routing, from, to, entropy, .. } = *self;
        routing.path(from, by, entropy).chain(routing.path(by, to, entropy))
    }

    /// Whether routing has a path over all the way.
    fn is_whole(&self, member: u16) -> bool {
        let Self { routing: Routing { hops, .. }, from, to, .. } = *self;
        let by = self.entry(member).unwrap_or(from);
        let node = |leaf: u32| hops.leaves[leaf as usize];
        hops.distance(node(from), by).is_some() && hops.distance(node(by), to).is_some()
    }
}

impl<R> Detours for Paths<'_, R> {
    #[inline(always)]
    fn intermediates(&self) -> u16 {
        let [from, to] = self.ends();
        let groups = self.routing.groups.len() as u32;
        groups.saturating_sub(u32::from(from < groups) + u32::from(to < groups)) as u16
    }

    #[inline(always)]
    fn member(&self, index: u16) -> u16 {
        let [from, to] = self.ends();
        let beyond = u32::from(index) + u32::from(u32::from(index) >= from.min(to));
        MINIMAL + 1 + (beyond + u32::from(beyond >= from.max(to))) as u16
    }

    fn hops(&self, member: u16) -> u32 {
        self.ports(member).count() as u32
    }
}

/// Environment of a first router.
struct PathEnv<'a, R> {
    network: &'a mut Network,
    paths: &'a Paths<'a, R>,
    stream: &'a mut Pcg32,
}

impl<R: DetourRule> Env for PathEnv<'_, R> {
    const GIVES: u32 = capability::CLOCK | capability::RANDOM | capability::BACKLOG;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.network.now_ns()
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        self.stream.next_u32()
    }

    fn backlog_bytes(&mut self, member: u16) -> u32 {
        let Paths { rule, routing, .. } = self.paths;
        let counted = if rule.reads_all_ports() { usize::MAX } else { 1 };
        let waiting = self.paths.ports(member).take(counted).map(|port| {
            let backlog_bytes = u128::from(self.network.backlog_bytes(port));
            backlog_bytes * u128::from(routing.fastest_bps) / u128::from(self.network.rate_bps(port)).max(1)
        });
        waiting.sum::<u128>().min(u32::MAX.into()) as u32
    }

    fn up(&self, member: u16) -> bool {
        let first = self.paths.ports(member).next();
        self.paths.is_whole(member) && first.is_some_and(|port| self.network.is_up(port))
    }
}

impl<R: DetourRule> DetourBalancer<R> {
    /// Path of a packet at its first router, leaf `from`, to leaf `to` of another group: the member, and the intermediate
    /// router if it takes a detour.
    fn decide(&mut self, from: u32, to: u32, id: PacketId, network: &mut Network) -> (u16, Option<u32>) {
        let Self { rule, routing, routers, granularity, .. } = self;
        let Packet { connection, entropy, frame_bytes, seq, .. } = *network.packet(id);
        let Router { kept, stream } = &mut routers[from as usize];
        let paths = Paths { rule, routing, from, to, entropy };
        let salt = routing.salts[routing.hops.switch(routing.hops.leaves[from as usize])];
        let mut asked = picks::Packet {
            flow: u64::from(connection) << 32 | u64::from(selection_hash(entropy, salt)),
            bytes: frame_bytes.into(),
            destination: to,
            ..picks::Packet::default()
        };
        let mut env = PathEnv { network, paths: &paths, stream };
        let member = kept.pick::<R::Pick<'_>, _>(*granularity, seq, &paths, &mut (), &mut asked, &mut env);
        (member, paths.entry(member))
    }
}

impl<R: DetourRule> SwitchBalancer for DetourBalancer<R> {
    const DETOURS: bool = true;

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("packets that took a detour", self.detoured)]
    }

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        self.tables.plan(asked)
    }

    fn retire(&mut self, group: u32) {
        self.tables.retire(group);
    }

    #[inline(always)]
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        self.tables.choose(at, id, network)
    }

    fn towards(&mut self, switch: u32, leaf: u32, id: PacketId, network: &mut Network) -> u32 {
        let here = self.routing.leaf_of[switch as usize];
        let packet = network.packet(id);
        // A path that the list of flows names stays as it is.
        if packet.marks & marks::LABELLED != 0 {
            return leaf;
        }
        let by = match (packet.tag, here) {
            (STRAIGHT, _) => return leaf,
            (FRESH, Some(from)) => {
                let group = |leaf: u32| self.routing.group_of[leaf as usize];
                if group(from) == group(leaf) {
                    None
                } else {
                    let (member, by) = self.decide(from, leaf, id, network);
                    // Distinct numbers for distinct paths.
                    network.packet(id).path = member;
                    self.detoured += u64::from(by.is_some());
                    by
                }
            }
            (FRESH, None) => None,
            (tag, _) => Some(tag - FIRST_LEAF).filter(|&by| here != Some(by)),
        };
        network.packet(id).tag = by.map_or(STRAIGHT, |by| by + FIRST_LEAF);
        by.unwrap_or(leaf)
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.routing.hops = NextHops::shortest(&self.routing.fabric, links);
    }
}

impl Task<'_> {
    /// First routers pick paths by `rule`; switches run tables of equal weights.
    pub(crate) fn by_detours<R: DetourRule + Sync>(
        self,
        rule: R,
        name: &'static str,
    ) -> Result<Outcome, SimulationError> {
        let (fabric, settings, salts) = (self.fabric, self.settings, self.salts());
        let (seed, granularity) = (settings.seed, settings.balancing.granularity);
        let make = || {
            let routing = Routing::new(fabric, salts.clone(), name)?;
            let router = |leaf| Router {
                kept: Kept::new(granularity, routing.groups.len(), false),
                stream: stream(seed, name, leaf),
            };
            let routers = (0..routing.hops.leaves.len() as u32).map(router).collect();
            let tables = table_of::<Uniform>(settings, &salts, ());
            Ok(DetourBalancer { rule, routing, routers, tables, granularity, detoured: 0 })
        };
        self.run(make, None)
    }
}
