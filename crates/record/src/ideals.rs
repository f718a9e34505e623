//! Ideal completion times of flows.

use anabranch_fabric::Fabric;
use anabranch_fabric::ideal::{Stage, Stages, ideal_fct_ps, least_fct_ps};
use anabranch_sim::Framing;
use anabranch_sim::transport::Transport;
use anabranch_traffic::Flow;
use std::collections::HashMap;

/// Ideal completion times on a fabric.
pub struct Ideals {
    stages: Stages,
    /// Hosts of one leaf may have links of different rates: the stages are known by their hosts.
    known: HashMap<(u32, u32), Vec<Stage>>,
}

impl Ideals {
    /// None is known yet.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Self {
        Self { stages: Stages::new(fabric), known: HashMap::new() }
    }

    /// Ideal completion time of a flow on the same fabric, in picoseconds.
    pub fn fct_ps(
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

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_fabric::Rate;
    use anabranch_fabric::topology::{LeafSpine, LinkSettings};
    use anabranch_sim::transport::QueuePairs;
    use anabranch_sim::transport::roce::Roce;
    use anabranch_traffic::{Ports, Start};

    const FRAMING: Framing = Framing {
        payload_bytes_max: 1280,
        header_bytes: 60,
        frame_bytes_min: 64,
        gap_bytes: 20,
        whole_ns: false,
    };

    /// Ideal time of a message under one leaf with links of 10 Gbit/s, 800 ps a byte, and 1 us.
    fn ideal_ps(size_bytes: u64, queue_pairs: u8) -> u64 {
        let rate = Rate::from_bps(10_000_000_000).expect("a rate");
        let host_link = LinkSettings { rate, delay_ps: 1_000_000, ..LinkSettings::default() };
        let fabric = LeafSpine { host_link, ..LeafSpine::default() }.build().expect("a fabric");
        let queue_pairs = QueuePairs { count: queue_pairs, ..QueuePairs::ONE };
        let transport = Transport::Roce(Roce { queue_pairs, ..Roce::plain() });
        let flow = Flow {
            src: 0,
            dst: 1,
            size_bytes,
            start: Start::At(0),
            path: None,
            job: None,
            transport: 0,
            ports: Ports::CHOSEN,
        };
        Ideals::new(&fabric).fct_ps(&fabric, FRAMING, &[transport], &flow)
    }

    /// Four parts of ten full frames are forty frames: the same as of one queue pair.
    #[test]
    fn equal_frames_take_as_long_over_any_queue_pairs() {
        let frames_ps = 41 * (1280 + 80) * 800 + 2_000_000;
        assert_eq!(ideal_ps(40 * 1280, 1), frames_ps);
        assert_eq!(ideal_ps(40 * 1280, 4), frames_ps);
    }

    /// Each of four parts has a full frame and one of 128 B. All pass the first link, and a short one at least the second.
    #[test]
    fn every_part_has_a_last_frame_of_its_own() {
        let (full_bytes, last_bytes) = (1280 + 80, 128 + 80);
        let expected_ps = (4 * (full_bytes + last_bytes) + last_bytes) * 800 + 2_000_000;
        assert_eq!(ideal_ps(4 * (1280 + 128), 4), expected_ps);
    }
}
