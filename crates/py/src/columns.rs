//! Tables of a run as NumPy columns.

use anabranch_record::{Column, Values, WORD_LETTERS_MAX};
use numpy::{IntoPyArray, PyFixedString};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Columns by name. Missing numbers are NaN among reals, and None among integers, which come as a list. Words are
/// bytes of fixed length.
pub(crate) fn dictionary(py: Python<'_>, columns: Vec<Column>) -> PyResult<Py<PyDict>> {
    let table = PyDict::new(py);
    for Column { name, values, .. } in columns {
        match values {
            Values::U64(values) => table.set_item(name, values.into_pyarray(py))?,
            Values::F64(values) => table.set_item(name, values.into_pyarray(py))?,
            Values::Bool(values) => table.set_item(name, values.into_pyarray(py))?,
            Values::Node(values) => table.set_item(name, values.into_pyarray(py))?,
            Values::Word(values) => {
                let words = values.into_iter().map(letters);
                table.set_item(name, words.collect::<Vec<_>>().into_pyarray(py))?;
            }
            Values::OptionalU64(values) => table.set_item(name, values)?,
            Values::OptionalF64(values) => {
                let known = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
                table.set_item(name, known.collect::<Vec<_>>().into_pyarray(py))?;
            }
        }
    }
    Ok(table.unbind())
}

/// A word as NumPy's bytes of fixed length.
fn letters(word: &str) -> PyFixedString<WORD_LETTERS_MAX> {
    let mut letters = [0; WORD_LETTERS_MAX];
    letters[..word.len()].copy_from_slice(word.as_bytes());
    letters.into()
}

/// Name, type and meaning of each column of a table.
pub(crate) type Schema = Vec<(&'static str, &'static str, &'static str)>;

/// Describes columns.
pub(crate) fn schema(columns: &[Column]) -> Schema {
    columns.iter().map(|column| (column.name, column.values.kind(), column.meaning)).collect()
}
