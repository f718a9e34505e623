//! Keys of scenarios, for classes in Python that know none of them by themselves.

use crate::error::scenario as refused;
use anabranch_form::{Row, Wants};
use anabranch_scenario::{every_key, keys_of};
use pyo3::prelude::*;

/// Path, sort (`value`, `table` or `tables`), description of the values, default, meaning.
type KeyRow = (String, &'static str, String, String, &'static str);

fn key(row: Row) -> KeyRow {
    let (sort, wants) = match row.wants {
        Wants::Value(wants) => ("value", wants),
        Wants::Table => ("table", String::new()),
        Wants::Tables => ("tables", String::new()),
    };
    (row.path, sort, wants, row.default, row.meaning)
}

/// Keys that a scenario has or may have; without one those of all scenarios.
#[pyfunction]
#[pyo3(signature = (text=None))]
pub(crate) fn scenario_keys(text: Option<&str>) -> PyResult<Vec<KeyRow>> {
    let rows = text.map_or_else(|| Ok(every_key()), keys_of).map_err(refused)?;
    Ok(rows.into_iter().map(key).collect())
}
