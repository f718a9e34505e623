//! Plans of load balancers for pairs of leaves, as plain data.

use crate::error::scenario;
use anabranch_balancers::{PairPlan, PlanColumn, PlanFact, PlanTable, PlanValue, registry};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Key, title, value, and how it comes about.
type FactRow = (&'static str, &'static str, Py<PyAny>, String);
/// Key, heading, and name and heading of each part.
type ColumnRow = (&'static str, String, Vec<(String, String)>);
/// Key, title, columns, rows.
type TableRow = (String, String, Vec<ColumnRow>, Vec<Vec<Py<PyAny>>>);
/// Facts, tables, notes.
type PlanRow = (Vec<FactRow>, Vec<TableRow>, Vec<String>);

/// The plan of a load balancer for two leaves of a file's fabric; see `_core.pyi`.
#[pyfunction]
pub(crate) fn plan_pair(
    py: Python<'_>,
    text: &str,
    file: &str,
    balance: &str,
    overrides: Vec<(String, String)>,
    pair: (String, String),
) -> PyResult<PlanRow> {
    let leaves = [pair.0.as_str(), pair.1.as_str()];
    let plan = py.detach(|| anabranch_scenario::plan_pair(text, file, balance, &overrides, leaves));
    let PairPlan { facts, tables, notes } = plan.map_err(scenario)?;
    let fact = |PlanFact { key, title, value: worth, because }: PlanFact| {
        Ok((key, title, value(py, worth)?, because))
    };
    let facts = facts.into_iter().map(fact).collect::<PyResult<_>>()?;
    let tables = tables.into_iter().map(|one| table(py, one)).collect::<PyResult<_>>()?;
    Ok((facts, tables, notes))
}

/// Names of the load balancers that have such plans.
#[pyfunction]
pub(crate) fn pair_planners() -> Vec<&'static str> {
    registry::pair_planners().map(|descriptor| descriptor.name).collect()
}

fn table(py: Python<'_>, table: PlanTable) -> PyResult<TableRow> {
    let PlanTable { key, title, columns, rows } = table;
    let column = |PlanColumn { key, heading, parts }: PlanColumn| (key, heading, parts);
    let row = |row: Vec<PlanValue>| row.into_iter().map(|one| value(py, one)).collect::<PyResult<_>>();
    let rows = rows.into_iter().map(row).collect::<PyResult<_>>()?;
    Ok((key, title, columns.into_iter().map(column).collect(), rows))
}

fn value(py: Python<'_>, one: PlanValue) -> PyResult<Py<PyAny>> {
    match one {
        PlanValue::None => Ok(py.None()),
        PlanValue::Whole(whole) => whole.into_py_any(py),
        PlanValue::Number(number) => number.into_py_any(py),
        PlanValue::Name(name) => name.into_py_any(py),
        PlanValue::List(values) => {
            let values = values.into_iter().map(|one| value(py, one)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values)?.into_py_any(py)
        }
    }
}
