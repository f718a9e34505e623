//! Techniques that apportion entries of a table and pick by `hash % length`: the shared half.

use super::picker::{self, Picker};
use super::scoring::{Narrow, Scorer};
use super::{Batch, Step, Technique};
use crate::control;
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::string::ToString;
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
pub(super) trait Rule: Send {
    /// Lays out `members`. On error the history stands.
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError>;
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
            Layout::Scores(weights) => {
                let mut scores = Narrow::default();
                scores.set(&weights)?;
                Self::Scores(scores)
            }
            Layout::Entries(entries) => {
                let shares = control::shares(entries.iter().copied(), members);
                Self::Entries { shares, length: entries.len(), picker: picker::table(entries) }
            }
        })
    }
}

impl<R: Rule + 'static> Table<R> {
    /// Plans `members` by `rule`.
    pub(super) fn boxed(mut rule: R, members: &Members) -> Result<Box<dyn Technique>, PlanError> {
        let plan = Plan::new(rule.lay_out(members)?, members.len())?;
        Ok(Box::new(Self { rule, plan }))
    }
}

impl<R: Rule> Technique for Table<R> {
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        self.plan = Plan::new(self.rule.lay_out(members)?, members.len())?;
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        match &self.plan {
            Plan::Entries { picker, .. } => picker.pick(batch.flows, out),
            Plan::Scores(scores) => scores.pick(batch.flows, out),
        }
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(match &self.plan {
            Plan::Entries { shares, .. } => shares.clone(),
            Plan::Scores(scores) => scores.shares(),
        })
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
}
