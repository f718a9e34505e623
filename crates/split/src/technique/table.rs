//! Techniques that apportion entries of a table and pick by `hash % length`: the shared half.

use super::picker::{self, Picker};
use super::scoring::{Narrow, Scorer};
use super::{Lookup, Stateless, Step, Technique};
use crate::control;
use crate::history::expect;
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::string::ToString;
use std::sync::Arc;
use std::vec;
use std::vec::Vec;

/// Layout that a rule makes of weights.
pub(super) enum Layout {
    /// The member of each entry.
    Entries(Vec<u16>),
    /// No table: members are scored by these weights.
    Scores(Vec<u64>),
}

/// From weights to entries; keeps the history it needs.
pub(super) trait Rule: Clone + Send + Sync {
    /// Lays out `members`.
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError>;

    /// History as bytes, which the next layout reads beside the members: empty where members and parameters decide it.
    fn history(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes a history, and lays out `members` as it was.
    fn recall(&mut self, members: &Members, history: &[u8]) -> Result<Layout, PlanError> {
        expect(history.is_empty(), "bytes for a technique that has none")?;
        self.lay_out(members)
    }

    /// Bytes of the history in memory.
    fn history_bytes(&self) -> usize {
        0
    }
}

/// A rule and the table it made last.
pub(super) struct Table<R> {
    rule: R,
    plan: Plan,
}

enum Plan {
    Entries { picker: Box<dyn Picker>, shares: Vec<f64>, length: usize },
    Scores(Narrow),
}

impl Plan {
    fn new(layout: Layout, members: usize) -> Result<Self, PlanError> {
        Ok(match layout {
            Layout::Scores(weights) => Self::Scores(Narrow::new(&weights)?),
            Layout::Entries(entries) => {
                let shares = control::shares(entries.iter().copied(), members);
                Self::Entries { shares, length: entries.len(), picker: picker::table(entries) }
            }
        })
    }
}

impl<R: Rule + 'static> Table<R> {
    /// Plans `members` by `rule`.
    pub(super) fn planned(rule: R, members: &Members) -> Result<Technique, PlanError> {
        Ok(Technique::stateless(Self::new(rule, members)?))
    }

    fn new(mut rule: R, members: &Members) -> Result<Self, PlanError> {
        let plan = Plan::new(rule.lay_out(members)?, members.len())?;
        Ok(Self { rule, plan })
    }
}

impl<R: Rule + 'static> Stateless for Table<R> {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        Ok(Arc::new(Self::new(self.rule.clone(), members)?))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        match &self.plan {
            Plan::Entries { picker, .. } => picker.pick(flows, out),
            Plan::Scores(scores) => scores.pick(flows, out),
        }
    }

    fn lookup(&self) -> Lookup {
        match &self.plan {
            Plan::Entries { picker, .. } => picker.lookup(),
            Plan::Scores(_) => Lookup::None,
        }
    }

    fn shares(&self) -> Vec<f64> {
        match &self.plan {
            Plan::Entries { shares, .. } => shares.clone(),
            Plan::Scores(scores) => scores.shares(),
        }
    }

    fn state_bytes(&self) -> usize {
        match &self.plan {
            Plan::Entries { picker, .. } => picker.bytes(),
            Plan::Scores(scores) => scores.bytes(),
        }
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        match &self.plan {
            Plan::Entries { length, .. } => {
                let slot = flow as u32 as usize % length;
                vec![Step { what: "slot".to_string(), value: format!("{slot} of {length}") }]
            }
            Plan::Scores(scores) => scores.explain(flow as u32),
        }
    }

    fn history(&self) -> Vec<u8> {
        self.rule.history()
    }

    fn recall(&mut self, members: &Members, history: &[u8]) -> Result<(), PlanError> {
        self.plan = Plan::new(self.rule.recall(members, history)?, members.len())?;
        Ok(())
    }

    fn history_bytes(&self) -> usize {
        self.rule.history_bytes()
    }
}
