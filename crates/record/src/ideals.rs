//! Ideal completion times of flows.

use anabranch_fabric::Fabric;
use anabranch_fabric::ideal::{Stage, Stages, ideal_fct_ps, least_fct_ps};
use anabranch_sim::Framing;
use anabranch_sim::transport::Transport;
use anabranch_traffic::Flow;
use std::collections::HashMap;

/// Ideal completion times on a fabric.
pub(crate) struct Ideals {
    stages: Stages,
    /// Hosts of one leaf may have links of different rates: the stages are known by their hosts.
    known: HashMap<(u32, u32), Vec<Stage>>,
}

impl Ideals {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        Self { stages: Stages::new(fabric), known: HashMap::new() }
    }

    /// Ideal completion time of a flow on the same fabric, in picoseconds.
    pub(crate) fn fct_ps(
        &mut self,
        fabric: &Fabric,
        framing: Framing,
        transports: &[Transport],
        flow: &Flow,
    ) -> u64 {
        let wire =
            |payload: u64| u32::from(framing.frame_bytes(payload as u16)) + u32::from(framing.gap_bytes);
        let Self { stages, known } = self;
        let stages = known.entry((flow.src, flow.dst)).or_insert_with(|| {
            let mut stages = stages.of(fabric, flow.src, flow.dst);
            for Stage { fastest, .. } in &mut stages {
                fastest.serialization = fastest.serialization.rounded(framing.whole_ns);
            }
            stages
        });
        let transport = transports.get(usize::from(flow.transport));
        let most = transport.map_or(framing.payload_bytes_max, |one| one.payload_bytes_max(framing)).into();
        let parts = transport.and_then(Transport::queue_pairs).map(|pairs| pairs.parts(flow.size_bytes));
        let parts: Vec<u64> = parts.into_iter().flatten().collect();
        if parts.len() > 1 {
            let frames_of = |&part: &u64| {
                let full = (part - 1) / most;
                [(full, wire(most)), (1, wire(part - full * most))]
            };
            let frames = parts.iter().flat_map(frames_of).filter(|&(count, _)| count > 0);
            return least_fct_ps(stages, &frames.collect::<Vec<_>>());
        }
        let full = (flow.size_bytes - 1) / most;
        ideal_fct_ps(stages, full, wire(most), wire(flow.size_bytes - full * most))
    }
}
