//! WRR: new flows take turns, each path as often as its weight says (VALO sec. 2.2.2).

use super::pinned::{Clock, pick_each, purge_dead, remembered};
use super::{Batch, Granularity, Parameters, Row, Stateful, Step, Technique};
use crate::apportion::turns;
use crate::picks::turns::State;
use crate::picks::{FlowList, FlowTable, Flows, Turns};
use crate::{Members, PlanError};
use std::format;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "wrr",
    granularity: Granularity::Flow,
    summary: "new connections take turns; results are kept, and flushed when weights change",
    source: "VALO sec. 2.2.2 and its artefact (order=block cache=list); Tijdeman 1980 (order=smooth)",
    build: |members, parameters: &mut Parameters| {
        let order = match parameters.take_choice("order", &["smooth", "block"])? {
            "block" => turns::block,
            _ => turns::smooth,
        };
        let cache = parameters.take_choice("cache", &["table", "list"])?;
        let pin = parameters.take("pin_on_change", false)?;
        Ok(match cache {
            "list" => Technique::stateful(Wrr::<FlowList>::new(members, order, pin)?),
            _ => Technique::stateful(Wrr::<FlowTable<()>>::new(members, order, pin)?),
        })
    },
};

type Order = fn(&[u64]) -> Result<Vec<u16>, PlanError>;

#[derive(Clone)]
struct Wrr<M> {
    members: Members,
    order: Order,
    pin_on_change: bool,
    turns: Vec<u16>,
    state: State<M>,
    clock: Clock,
}

impl<M: Flows<Note = ()> + Default> Wrr<M> {
    fn new(members: &Members, order: Order, pin_on_change: bool) -> Result<Self, PlanError> {
        Ok(Self {
            members: members.clone(),
            order,
            pin_on_change,
            turns: order(&members.effective())?,
            state: State::default(),
            clock: Clock::default(),
        })
    }
}

impl<M: Flows<Note = ()> + Default + Clone + Send + 'static> Stateful for Wrr<M> {
    /// A change of weights flushes the results, as published, unless pinned. A death evicts the dead path's flows
    /// only, on which the paper is silent.
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        self.turns = (self.order)(&members.effective())?;
        self.state.next = 0;
        if members.weights() != self.members.weights() && !self.pin_on_change {
            self.state = State::default();
        }
        purge_dead::<Turns<M>>(&self.turns, &mut self.state, &mut self.clock, &self.members, members);
        self.members = members.clone();
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        pick_each::<Turns<M>>(&self.turns, &mut self.state, &mut self.clock, batch, out, |s, flow| {
            s.flows.prefetch(flow);
        });
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(self.members.asked())
    }

    fn state_bytes(&self) -> usize {
        self.state.flows.bytes() + size_of_val(&self.turns[..]) + size_of_val(&self.state.next)
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let known = self.state.flows.get(flow).map(|(member, ())| member);
        let mut steps = vec![remembered(known)];
        if known.is_none() {
            steps.push(Step {
                what: "next turn".to_string(),
                value: format!("{} of {}", self.state.next, self.turns.len()),
            });
        }
        steps
    }
}
