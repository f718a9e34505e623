//! Every technique, listed once: names, help, documentation and dispatch all read this list.

use super::{
    Batch, Parameters, Row, Step, Technique, byte_deficit, deficit, hash_exceptions, interval,
    linux_resilient, maglev, min_move, niagara, ovs_dp_hash, random, rejection_cells, rendezvous, scoring,
    valo, wcmp, wfq, wrr,
};
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::vec::Vec;

/// All techniques, in the order in which tables show them.
pub const TECHNIQUES: &[Row] = &[
    min_move::ROW,
    rendezvous::ROW,
    rejection_cells::ROW,
    deficit::ROW,
    hash_exceptions::ROW,
    byte_deficit::FLOW_ROW,
    byte_deficit::FLOWCELL_ROW,
    byte_deficit::FLOWLET_ROW,
    random::ROW,
    interval::WEIGHTED_RANDOM,
    wrr::ROW,
    wcmp::WCMP,
    wcmp::PROPORTIONAL,
    wcmp::PUBLISHED,
    scoring::NARROW,
    scoring::WIDE,
    valo::ROW,
    wfq::ROW,
    interval::CDF,
    interval::ALIAS,
    maglev::ROW,
    ovs_dp_hash::ROW,
    linux_resilient::ROW,
    niagara::ROW,
];

/// The row of `name`.
///
/// # Errors
/// An unknown name; the error says the nearest ones.
pub fn row(name: &str) -> Result<&'static Row, PlanError> {
    TECHNIQUES.iter().find(|row| row.name == name).ok_or_else(|| {
        let names = TECHNIQUES.iter().map(|row| row.name).collect::<Vec<_>>();
        PlanError::new(format!("technique: `{name}` is unknown"), format!("use one of {}", names.join(", ")))
    })
}

/// Plans the technique `name` for `members`.
///
/// # Errors
/// An unknown name or parameter, or weights beyond the technique's limits.
pub fn build(
    name: &str,
    members: &Members,
    parameters: &Parameters,
) -> Result<Box<dyn Technique>, PlanError> {
    let mut parameters = parameters.clone();
    let technique = (row(name)?.build)(members, &mut parameters)?;
    parameters.finish(name)?;
    Ok(Box::new(Numbered { technique, members: members.len() }))
}

/// Keeps what [`Technique::plan`] promises of every technique: members keep their numbers, so a list may only grow.
struct Numbered {
    technique: Box<dyn Technique>,
    members: usize,
}

impl Technique for Numbered {
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        if members.len() < self.members {
            return Err(PlanError::new(
                format!("weights: {} for a group of {} paths", members.len(), self.members),
                "paths keep their numbers: give one that is gone the weight 0",
            ));
        }
        self.technique.plan(members)?;
        self.members = members.len();
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        self.technique.pick(batch, out);
    }

    fn shares(&self) -> Option<Vec<f64>> {
        self.technique.shares()
    }

    fn state_bytes(&self) -> usize {
        self.technique.state_bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        self.technique.explain(flow)
    }
}
