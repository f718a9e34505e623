//! Flowcells over whole paths at work: a source leaf picks a path for each and remembers it.

use crate::path_book::Routes;
use crate::switches::source_routes::{PathEnv, SourceRoutes, stream};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::{Choice, GroupPlan, Junction, Network, PacketId, SimulationError, SwitchBalancer};
use anabranch_split::PlanError;
use anabranch_split::picks::flowcell::Numbered;
use anabranch_split::picks::idle::Idle;
use anabranch_split::picks::paths::Paths;
use anabranch_split::picks::{FlowTable, Pick, units};
use core::marker::PhantomData;
use rand_pcg::Pcg32;

/// All source leaves, where `S` picks among the paths of a pair. Backlogs are those of all ports of a path.
pub(crate) struct FlowcellPaths<S> {
    source: SourceRoutes,
    /// Payload of a flowcell.
    cell_bytes: u64,
    /// Pause after which a flow is forgotten.
    idle_ns: u64,
    leaves: Vec<Leaf>,
    rule: PhantomData<S>,
}

struct Leaf {
    cells: FlowTable<(u32, u64)>,
    stream: Pcg32,
}

impl Paths for Routes {
    /// The living paths of the pair, which is the destination's.
    #[inline(always)]
    fn living(&self, _destination: u32) -> &[u16] {
        &self.live
    }
}

impl<S: Pick> FlowcellPaths<S> {
    /// # Errors
    /// Paths that labels cannot name.
    pub(crate) fn new(
        fabric: &Fabric,
        cell_bytes: u64,
        idle_ns: u64,
        seed: u64,
    ) -> Result<Self, SimulationError> {
        let source = SourceRoutes::new(fabric, seed)?;
        let leaf = |leaf| Leaf { cells: FlowTable::default(), stream: stream(seed, S::NAME, leaf) };
        let leaves = (0..source.leaves()).map(leaf).collect();
        Ok(Self { source, cell_bytes, idle_ns, leaves, rule: PhantomData })
    }
}

impl<S: Pick<Plan = Routes, State = ()>> SwitchBalancer for FlowcellPaths<S> {
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, weights, .. } = asked;
        self.source.plan(group, weights);
        Ok(())
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Some(from) = self.source.leaf(at.switch) else { return self.source.by_hash(at, id, network) };
        let packet = *network.packet(id);
        let mut asked = self.source.asked(at, &packet, self.cell_bytes);
        let Leaf { cells, stream } = &mut self.leaves[from as usize];
        let routes = self.source.routes(from, at.leaf);
        if routes.live.is_empty() {
            return self.source.by_hash(at, id, network);
        }
        let boundary = Idle { boundary: Numbered, idle_ns: self.idle_ns };
        let mut env = PathEnv::<true> { network, routes, stream };
        let path = units::pick::<_, S, _, _>(&boundary, routes, cells, &mut (), &mut asked, &mut env);
        self.source.along(from, path, at, id, network)
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.source.learn(links);
    }
}
