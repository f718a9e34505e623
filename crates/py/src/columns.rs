//! Tables of a run as NumPy columns.

use anabranch_record::{Column, Values};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Columns by name. Missing numbers are NaN among reals, and None among integers, which come as a list.
pub(crate) fn dictionary(py: Python<'_>, columns: Vec<Column>) -> PyResult<Py<PyDict>> {
    let table = PyDict::new(py);
    for Column { name, values, .. } in columns {
        match values {
            Values::U64(values) => table.set_item(name, values.into_pyarray(py))?,
            Values::F64(values) => table.set_item(name, values.into_pyarray(py))?,
            Values::Bool(values) => table.set_item(name, values.into_pyarray(py))?,
            Values::Node(values) => table.set_item(name, values.into_pyarray(py))?,
            Values::OptionalU64(values) => table.set_item(name, values)?,
            Values::OptionalF64(values) => {
                let known = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
                table.set_item(name, known.collect::<Vec<_>>().into_pyarray(py))?;
            }
        }
    }
    Ok(table.unbind())
}

/// Name, type and meaning of each column of a table.
pub(crate) type Schema = Vec<(&'static str, &'static str, &'static str)>;

/// Describes columns.
pub(crate) fn schema(columns: &[Column]) -> Schema {
    columns.iter().map(|column| (column.name, column.values.kind(), column.meaning)).collect()
}
