//! Hash and exceptions: nearly exact quotas with a path stored for few flows only.

use super::pinned::{Clock, pick_each, purge_dead, remembered};
use super::{Batch, Granularity, Parameters, Row, Stateful, Step, Technique};
use crate::apportion::quotas;
use crate::control::SlotTable;
use crate::picks::exceptions::{Plan, State};
use crate::picks::{Exceptions, FlowTable, Flows, Packet, Pick, Seen, Slots};
use crate::{Members, PlanError};
use std::format;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "hash-exceptions",
    granularity: Granularity::Flow,
    summary: "a hash decides; flows that would take a path tau deviations over quota are moved and remembered",
    source: "anabranch",
    build: |members, parameters: &mut Parameters| {
        let tau = parameters.take("tau", 0.25f64)?;
        if !(0.0..=64.0).contains(&tau) {
            return Err(PlanError::new(format!("tau: {tau} is out of range"), "use 0 to 64, as in 0.25"));
        }
        let horizon = parameters.take("horizon", 40_000u64)?;
        let weights = members.effective();
        let table = SlotTable::new(members)?;
        Ok(Technique::stateful(HashExceptions {
            members: members.clone(),
            plan: Plan {
                hash: *table.slots(),
                quotas: quotas::shares(&weights),
                tau_squared: (tau * tau * 65_536.0) as u32,
                horizon,
            },
            state: State {
                flows: FlowTable::default(),
                arrivals: Seen::default(),
                counts: vec![0; members.len()],
                total: 0,
            },
            clock: Clock::default(),
            table,
        }))
    },
};

/// Number of slots of the hash half; the exceptions correct the error of so few.
const SLOTS: usize = 4096;

/// The hash half: a min-move table, so that a change of weights moves the fewest flows.
type Hash = Slots<u16, SLOTS>;

type Rule = Exceptions<Hash, Vec<u64>, FlowTable<()>, Seen, Vec<u64>>;

#[derive(Clone)]
struct HashExceptions {
    members: Members,
    plan: Plan<[u16; SLOTS], Vec<u64>>,
    state: State<FlowTable<()>, Seen, Vec<u64>>,
    clock: Clock,
    /// The hash half with its history.
    table: SlotTable<u16, SLOTS>,
}

impl Stateful for HashExceptions {
    /// Exceptions stay, except those on a path that died; all other flows follow the hash. Counts begin anew: the
    /// flows that the hash moved were never listed.
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        self.table.plan(members)?;
        purge_dead::<Rule>(&self.plan, &mut self.state, &mut self.clock, &self.members, members);
        let weights = members.effective();
        self.plan.quotas = quotas::shares(&weights);
        self.plan.hash = *self.table.slots();
        self.state.counts = vec![0; members.len()];
        self.state.total = 0;
        self.members = members.clone();
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        pick_each::<Rule>(&self.plan, &mut self.state, &mut self.clock, batch, out, |_, _| ());
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(self.members.asked())
    }

    fn state_bytes(&self) -> usize {
        let State { flows, arrivals, counts, total } = &self.state;
        flows.bytes()
            + arrivals.bytes()
            + size_of_val(&counts[..])
            + size_of_val(total)
            + size_of_val(&self.plan.hash[..])
            + size_of_val(&self.plan.quotas[..])
    }

    fn history_bytes(&self) -> usize {
        size_of_val(self.table.slots()) + self.table.history_bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let hashed = Hash::pick(
            &self.plan.hash,
            &mut (),
            &mut Packet { flow, bytes: 1, ..Packet::default() },
            &mut self.clock.clone(),
        );
        let step = |what: &str, value| Step { what: what.to_string(), value };
        let mut steps = vec![step("hash", format!("path {}", hashed + 1))];
        if let Some((member, ())) = self.state.flows.get(flow) {
            steps.push(step("exception", format!("moved to path {}", member + 1)));
        } else if !self.state.arrivals.contains(flow) {
            steps.push(remembered(None));
            let at = usize::from(hashed);
            let due = self.members.asked()[at] * (self.state.total + 1) as f64;
            steps.push(step("flows of that path", format!("{} of {due:.3}", self.state.counts[at] + 1)));
        }
        steps
    }
}
