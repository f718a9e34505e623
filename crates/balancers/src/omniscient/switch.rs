//! The omniscient ideal at work: a source leaf reads the queues of the whole fabric.

use crate::luopan::parameters::Cells;
use crate::omniscient::pick::Omniscient;
use crate::switches::source_routes::{Living, PathEnv, SourceRoutes, stream};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_sim::{Choice, GroupPlan, Junction, Network, PacketId, SimulationError, SwitchBalancer};
use anabranch_split::PlanError;
use anabranch_split::picks::flowcell::Numbered;
use anabranch_split::picks::idle::Idle;
use anabranch_split::picks::{FlowTable, units};
use rand_pcg::Pcg32;

/// All source leaves.
pub(crate) struct OmniscientBalancer {
    source: SourceRoutes,
    cells: Cells,
    leaves: Vec<Leaf>,
}

struct Leaf {
    cells: FlowTable<(u32, u64)>,
    stream: Pcg32,
}

impl OmniscientBalancer {
    /// # Errors
    /// Paths that labels cannot name.
    pub(crate) fn new(fabric: &Fabric, cells: Cells, seed: u64) -> Result<Self, SimulationError> {
        let source = SourceRoutes::new(fabric, seed)?;
        let leaves = (0..source.leaves())
            .map(|leaf| Leaf { cells: FlowTable::default(), stream: stream(seed, "omniscient", leaf) })
            .collect();
        Ok(Self { source, cells, leaves })
    }
}

impl SwitchBalancer for OmniscientBalancer {
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, weights, .. } = asked;
        self.source.plan(group, weights);
        Ok(())
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Some(from) = self.source.leaf(at.switch) else { return self.source.by_hash(at, id, network) };
        let packet = *network.packet(id);
        let mut asked = self.source.asked(at, &packet, self.cells.bytes);
        let Leaf { cells, stream } = &mut self.leaves[from as usize];
        let routes = self.source.routes(from, at.leaf);
        if routes.live.is_empty() {
            return self.source.by_hash(at, id, network);
        }
        let boundary = Idle { boundary: Numbered, idle_ns: self.cells.idle_ns };
        let mut env = PathEnv::<true> { network, routes, stream };
        let path = units::pick::<_, Omniscient<Living<'_>>, _, _>(
            &boundary,
            &Living(&routes.live),
            cells,
            &mut (),
            &mut asked,
            &mut env,
        );
        self.source.along(from, path, at, id, network)
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.source.learn(links);
    }
}
