//! WFQ as a splitter: a new flow goes to the path with the least service per weight (VALO sec. 6).

use super::pinned::{Clock, pick_each, purge_dead, remembered};
use super::{Batch, Granularity, Parameters, Row, Stateful, Step, Technique};
use crate::picks::wfq::{Plan, State};
use crate::picks::{FlowTable, Flows, Wfq};
use crate::{Members, PlanError};
use std::format;
use std::vec;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "wfq",
    granularity: Granularity::Packet,
    summary: "new connections go where sent / weight is smallest; unit=packets counts every packet",
    source: "VALO sec. 6",
    build: |members, parameters: &mut Parameters| {
        let every_packet = parameters.take_choice("unit", &["connections", "packets"])? == "packets";
        Ok(Technique::stateful(WeightedFair {
            members: members.clone(),
            plan: Plan { weights: members.effective(), every_packet },
            state: State { flows: FlowTable::default(), sent: vec![0; members.len()] },
            clock: Clock::default(),
        }))
    },
};

type Rule = Wfq<Vec<u64>, FlowTable<()>, Vec<u64>>;

#[derive(Clone)]
struct WeightedFair {
    members: Members,
    plan: Plan<Vec<u64>>,
    state: State<FlowTable<()>, Vec<u64>>,
    clock: Clock,
}

impl Stateful for WeightedFair {
    /// Known flows stay. Counts begin anew, or the new weights would make up for what the old ones asked.
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        purge_dead::<Rule>(&self.plan, &mut self.state, &mut self.clock, &self.members, members);
        self.plan.weights = members.effective();
        self.state.sent = vec![0; members.len()];
        self.members = members.clone();
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        pick_each::<Rule>(&self.plan, &mut self.state, &mut self.clock, batch, out, |s, flow| {
            s.flows.prefetch(flow);
        });
    }

    fn shares(&self) -> Option<Vec<f64>> {
        (!self.plan.every_packet).then(|| self.members.asked())
    }

    fn state_bytes(&self) -> usize {
        self.state.flows.bytes() + size_of_val(&self.plan.weights[..]) + size_of_val(&self.state.sent[..])
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let known = self.state.flows.get(flow).map(|(member, ())| member);
        let mut steps = vec![remembered(known)];
        if known.is_none() {
            steps.extend(self.plan.weights.iter().zip(&self.state.sent).enumerate().map(|(i, (w, sent))| {
                Step { what: format!("sent / weight of path {}", i + 1), value: format!("{sent} / {w}") }
            }));
        }
        steps
    }
}
