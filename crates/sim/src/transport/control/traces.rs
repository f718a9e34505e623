//! Traces of other simulators in `vectors/`, gzipped tables of numbers with a head.

use flate2::read::GzDecoder;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

/// Rows of a table: a field by its column's name.
pub(super) struct Trace {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// One row.
pub(super) struct Row<'a> {
    head: &'a [String],
    fields: &'a [String],
}

impl Trace {
    /// Reads a file below `vectors/`.
    pub(super) fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name);
        let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let split = |line: String| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mut lines = BufReader::new(GzDecoder::new(file)).lines().map(|line| split(line.unwrap()));
        let head = lines.next().unwrap();
        Self { head, rows: lines.collect() }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|fields| Row { head: &self.head, fields })
    }
}

impl Row<'_> {
    /// Text in a column.
    pub(super) fn text(&self, column: &str) -> &str {
        let index = self.head.iter().position(|name| name == column);
        &self.fields[index.unwrap_or_else(|| panic!("there is no column {column}"))]
    }

    /// Whole number in a column.
    pub(super) fn number(&self, column: &str) -> i64 {
        self.text(column).parse().unwrap()
    }
}
