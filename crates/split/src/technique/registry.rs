//! Every technique, listed once: names, help, documentation and dispatch all read this list.

use super::{
    Parameters, Row, Technique, byte_deficit, deficit, hash_exceptions, interval, linux_resilient, maglev,
    min_move, niagara, ovs_dp_hash, random, rejection_cells, rendezvous, scoring, valo, wcmp, wfq, wrr,
};
use crate::{Members, PlanError};
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

/// Plans a technique for `members`; beside it all its parameters, those nobody set among them.
///
/// # Errors
/// An unknown parameter, or weights beyond the technique's limits.
pub(crate) fn build(
    row: &Row,
    members: &Members,
    parameters: &Parameters,
) -> Result<(Technique, Parameters), PlanError> {
    let mut parameters = parameters.clone();
    let technique = (row.build)(members, &mut parameters)?;
    Ok((technique, parameters.finish(row.name)?))
}
