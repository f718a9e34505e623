//! Deficit: exact quota on the connections active now.

use super::pinned::{Clock, pick_each, purge_dead, remembered};
use super::{Batch, Granularity, Parameters, Row, Stateful, Step, Technique};
use crate::apportion::quotas;
use crate::picks::deficit::{LastSeen, Plan, State, Ticks};
use crate::picks::{Deficit, FlowTable, Flows, Pick};
use crate::{Members, PlanError};
use std::format;
use std::vec;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "deficit",
    granularity: Granularity::Packet,
    summary: "new connections go where active ones are furthest below quota; known ones stay",
    source: "Balinski and Young 1975 (quota method), on active connections",
    build: |members, parameters: &mut Parameters| {
        let idle_ms = parameters.take("idle_timeout_ms", 60_000u64)?;
        let idle_ns =
            idle_ms.checked_mul(1_000_000).filter(|&ns| ns <= Ticks::IDLE_NS_MAX).ok_or_else(|| {
                PlanError::new(
                    format!("idle_timeout_ms: {idle_ms} is too long"),
                    format!(
                        "use at most {}, or 0 to remember flows for ever",
                        Ticks::IDLE_NS_MAX / 1_000_000
                    ),
                )
            })?;
        Ok(if idle_ns == 0 {
            Technique::stateful(ActiveQuota::<()>::new(members, idle_ns))
        } else {
            Technique::stateful(ActiveQuota::<Ticks>::new(members, idle_ns))
        })
    },
};

/// Packets between two looks at whether a sweep is due.
const CHUNK: usize = 256;
/// Most full sweeps per idle timeout.
const SWEEPS_PER_TIMEOUT: u64 = 256;
/// Places that sweeps beyond one per timeout may visit per packet, on average.
const SWEPT_PER_PACKET: usize = 8;

type Rule<N> = Deficit<Vec<u64>, FlowTable<N>, Vec<u32>>;

#[derive(Clone)]
struct ActiveQuota<N> {
    members: Members,
    plan: Plan<Vec<u64>>,
    state: State<FlowTable<N>, Vec<u32>>,
    clock: Clock,
    swept_ns: u64,
    packets_since_sweep: usize,
}

impl<N: LastSeen> ActiveQuota<N> {
    fn new(members: &Members, idle_ns: u64) -> Self {
        Self {
            members: members.clone(),
            plan: Plan { periods: quotas::periods(&members.effective()), idle_ns },
            state: State { flows: FlowTable::default(), active: vec![0; members.len()], total: 0 },
            clock: Clock::default(),
            swept_ns: 0,
            packets_since_sweep: 0,
        }
    }

    /// Expires what is idle before a chunk of `packets` whose first comes at `now_ns`: once per idle timeout, and more
    /// often as packets pay for it.
    fn sweep_if_due(&mut self, now_ns: u64, packets: usize) {
        self.clock.now_ns = now_ns;
        let elapsed_ns = now_ns.saturating_sub(self.swept_ns);
        let paid = self.packets_since_sweep >= self.state.flows.slots() / SWEPT_PER_PACKET;
        if elapsed_ns >= self.plan.idle_ns || (paid && elapsed_ns >= self.plan.idle_ns / SWEEPS_PER_TIMEOUT) {
            Rule::<N>::tick(&self.plan, &mut self.state, &mut self.clock);
            self.swept_ns = now_ns;
            self.packets_since_sweep = 0;
        }
        self.packets_since_sweep += packets;
    }
}

impl<N: LastSeen + Clone + Send + 'static> Stateful for ActiveQuota<N> {
    /// Flows of a path that died are forgotten, and decided anew at their next packet; all others stay.
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        purge_dead::<Rule<N>>(&self.plan, &mut self.state, &mut self.clock, &self.members, members);
        self.plan.periods = quotas::periods(&members.effective());
        self.state.active.resize(members.len(), 0);
        self.members = members.clone();
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        if !N::KEPT || batch.times_ns.is_empty() {
            return pick_each::<Rule<N>>(
                &self.plan,
                &mut self.state,
                &mut self.clock,
                batch,
                out,
                |s, flow| s.flows.prefetch(flow),
            );
        }
        let parts = batch.flows.chunks(CHUNK).zip(batch.times_ns.chunks(CHUNK)).zip(out.chunks_mut(CHUNK));
        for ((flows, times_ns), out) in parts {
            let part = Batch { flows, bytes: &[], times_ns };
            self.sweep_if_due(times_ns.first().copied().unwrap_or(0), flows.len());
            pick_each::<Rule<N>>(&self.plan, &mut self.state, &mut self.clock, &part, out, |s, flow| {
                s.flows.prefetch(flow);
            });
        }
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(self.members.asked())
    }

    fn state_bytes(&self) -> usize {
        let State { flows, active, total } = &self.state;
        flows.bytes() + size_of_val(&self.plan.periods[..]) + size_of_val(&active[..]) + size_of_val(total)
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let known = self.state.flows.get(flow).map(|(member, _)| member);
        let mut steps = vec![remembered(known)];
        if known.is_none() {
            let arrived = (self.state.total + 1) as f64;
            steps.extend(self.members.asked().iter().zip(&self.state.active).enumerate().map(
                |(i, (asked, active))| Step {
                    what: format!("active of path {}", i + 1),
                    value: format!("{active} of {:.3}", asked * arrived),
                },
            ));
        }
        steps
    }
}
