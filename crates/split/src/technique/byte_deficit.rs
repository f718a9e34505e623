//! Byte deficit: flows, flowcells or flowlets go where the most bytes are wanting.

use super::pinned::{Clock, pick_each, purge_dead, remembered};
use super::{Batch, Granularity, Parameters, Row, Stateful, Step, Technique};
use crate::apportion::quotas;
use crate::picks::byte_deficit::{Boundary, Plan, State, WholeFlow};
use crate::picks::{ByteDeficit, FlowTable, Flowcell, Flowlet, Flows};
use crate::{Members, PlanError};
use std::format;
use std::vec;
use std::vec::Vec;

pub(super) const FLOW_ROW: Row = Row {
    name: "deficit-bytes",
    granularity: Granularity::Packet,
    summary: "new connections go where bytes are furthest below quota; known ones stay",
    source: "largest deficit in bytes",
    build: |members, _: &mut Parameters| Ok(Technique::stateful(ByteQuota::new(members, WholeFlow))),
};

pub(super) const FLOWCELL_ROW: Row = Row {
    name: "byte-flowcell",
    granularity: Granularity::Packet,
    summary: "every 64 KiB of a connection go where bytes are furthest below quota",
    source: "largest deficit in bytes; flowcells: Presto (SIGCOMM 2015) sec. 3.1",
    build: |members, parameters: &mut Parameters| {
        let bytes = parameters.take("cell_bytes", Flowcell::BYTES)?;
        positive("cell_bytes", u64::from(bytes))?;
        Ok(Technique::stateful(ByteQuota::new(members, Flowcell { bytes })))
    },
};

pub(super) const FLOWLET_ROW: Row = Row {
    name: "byte-flowlet",
    granularity: Granularity::Packet,
    summary: "every flowlet goes where bytes are furthest below quota; needs arrival times",
    source: "largest deficit in bytes; flowlets: LetFlow (NSDI 2017)",
    build: |members, parameters: &mut Parameters| {
        let gap_ns = parameters.take("gap_ns", Flowlet::GAP_NS)?;
        positive("gap_ns", gap_ns)?;
        Ok(Technique::stateful(ByteQuota::new(members, Flowlet { gap_ns })))
    },
};

fn positive(key: &str, value: u64) -> Result<(), PlanError> {
    if value == 0 {
        return Err(PlanError::new(format!("{key}: 0 would split every packet"), "give at least 1"));
    }
    Ok(())
}

type Rule<B> = ByteDeficit<B, Vec<u64>, FlowTable<<B as Boundary>::Note>, Vec<u64>>;

#[derive(Clone)]
struct ByteQuota<B: Boundary> {
    members: Members,
    plan: Plan<B, Vec<u64>>,
    state: State<FlowTable<B::Note>, Vec<u64>>,
    clock: Clock,
}

impl<B: Boundary<Note: Default>> ByteQuota<B> {
    fn new(members: &Members, boundary: B) -> Self {
        Self {
            members: members.clone(),
            plan: Plan { quotas: quotas::shares(&members.effective()), boundary },
            state: State { flows: FlowTable::default(), sent: vec![0; members.len()], total: 0 },
            clock: Clock::default(),
        }
    }
}

impl<B: Boundary<Note: Default + Send> + Clone + Send + 'static> Stateful for ByteQuota<B> {
    /// Keeps packets under way, except on a path that died. Counts begin anew, or the new weights would make
    /// up for what the old ones asked.
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        purge_dead::<Rule<B>>(&self.plan, &mut self.state, &mut self.clock, &self.members, members);
        self.plan.quotas = quotas::shares(&members.effective());
        self.state.sent = vec![0; members.len()];
        self.state.total = 0;
        self.members = members.clone();
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        pick_each::<Rule<B>>(&self.plan, &mut self.state, &mut self.clock, batch, out, |s, flow| {
            s.flows.prefetch(flow);
        });
    }

    /// Bytes follow the weights; connections and packets follow from their sizes.
    fn shares(&self) -> Option<Vec<f64>> {
        None
    }

    fn state_bytes(&self) -> usize {
        let State { flows, sent, total } = &self.state;
        flows.bytes() + size_of_val(&self.plan.quotas[..]) + size_of_val(&sent[..]) + size_of_val(total)
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let known = self.state.flows.get(flow).map(|(member, _)| member);
        let mut steps = vec![remembered(known)];
        let total = self.state.total as f64;
        steps.extend(self.members.asked().iter().zip(&self.state.sent).enumerate().map(
            |(i, (asked, sent))| Step {
                what: format!("bytes of path {}", i + 1),
                value: format!("{sent} of {:.0}", asked * total),
            },
        ));
        steps
    }
}
