//! Every technique, listed once: names, help, documentation and dispatch all read this list.

use super::{Parameters, Row, Technique, random};
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::vec::Vec;

/// All techniques, in the order in which tables show them.
pub const TECHNIQUES: &[Row] = &[random::ROW];

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
    Ok(technique)
}
