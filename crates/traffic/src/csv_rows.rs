//! Rows of a CSV file with their line numbers, and errors in them.

use csv::StringRecord;
use std::io::{self, Read};

/// Error in a CSV file: its position, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {problem}; {hint}", line.map(|n| format!(":{n}")).unwrap_or_default())]
pub struct CsvError {
    /// File, as the user named it.
    pub file: String,
    /// Line, counted from one; `None` if the fault is not in a single line.
    pub line: Option<u64>,
    /// Column and value at fault, and why.
    pub problem: String,
    /// Values that would work.
    pub hint: String,
}

/// Problem and hint of an error.
pub type Fault = (String, String);

/// Reader of rows under a header, in constant memory. Lines that start with `#` are comments.
pub struct CsvRows<R> {
    file: String,
    rows: csv::Reader<UnixLines<R>>,
    header: StringRecord,
    row: StringRecord,
}

impl<R: Read> CsvRows<R> {
    /// Reads the header; `file` names the input in errors.
    ///
    /// # Errors
    /// A header that cannot be read.
    pub fn new(input: R, file: &str) -> Result<Self, CsvError> {
        let lines = UnixLines { input, last: b'\n', ended: false };
        let rows = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(lines);
        let (header, row) = (StringRecord::new(), StringRecord::new());
        let mut rows = Self { file: file.to_string(), rows, header, row };
        rows.header = match rows.rows.headers() {
            Ok(header) => header.clone(),
            Err(error) => return Err(rows.refused(&error)),
        };
        Ok(rows)
    }

    /// Names of the columns; the CSV reader removes a byte order mark.
    #[must_use]
    pub fn header(&self) -> &StringRecord {
        &self.header
    }

    /// Position of the column with this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// Position of the column with this name, or an error in which `form` says how the file should begin.
    ///
    /// # Errors
    /// There is no such column.
    pub fn required(&self, name: &str, form: &str) -> Result<usize, CsvError> {
        let fault = || (format!("the header has no column `{name}`"), form.to_string());
        self.column(name).ok_or_else(|| self.fault(fault()))
    }

    /// Reads the next row, which has as many fields as the header; `None` at the end.
    ///
    /// # Errors
    /// A row that cannot be read, or with another number of fields.
    pub fn read(&mut self) -> Result<Option<&StringRecord>, CsvError> {
        match self.rows.read_record(&mut self.row) {
            Ok(true) => Ok(Some(&self.row)),
            Ok(false) => Ok(None),
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Error in the row read last, or in the header before the first row.
    #[must_use]
    pub fn fault(&self, (problem, hint): Fault) -> CsvError {
        // The position of a row is where reading began, before blank lines and comments. Behind it, every row has
        // ended with one line feed.
        let line = (self.rows.position().line() - 1).max(1);
        CsvError { file: self.file.clone(), line: Some(line), problem, hint }
    }

    /// Error of the file as a whole.
    #[must_use]
    pub fn fault_of_file(&self, (problem, hint): Fault) -> CsvError {
        CsvError { file: self.file.clone(), line: None, problem, hint }
    }

    fn refused(&self, error: &csv::Error) -> CsvError {
        let (problem, hint) = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => (
                format!("{len} fields where the header has {expected_len}"),
                "give every row a field per column, empty if unknown",
            ),
            csv::ErrorKind::Utf8 { err, .. } => {
                (format!("field {} is not UTF-8 text", err.field() + 1), "save the file as UTF-8")
            }
            _ => (format!("cannot read: {error}"), "check that the file is whole"),
        };
        self.fault((problem, hint.to_string()))
    }
}

/// Reader that ends every line with one line feed, the last one too.
struct UnixLines<R> {
    input: R,
    last: u8,
    ended: bool,
}

impl<R: Read> Read for UnixLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !buffer.is_empty() {
            let read = self.input.read(buffer)?;
            if read == 0 {
                self.ended = true;
                if self.last != b'\n' {
                    buffer[0] = b'\n';
                    return Ok(1);
                }
                break;
            }
            let mut kept = 0;
            for at in 0..read {
                buffer[kept] = buffer[at];
                kept += usize::from(buffer[at] != b'\r');
            }
            if kept > 0 {
                self.last = buffer[kept - 1];
                return Ok(kept);
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_behind_blank_lines_and_comments() {
        let text = "# of\n\na,b\n1,2\n\n# note\n3,4\n5,6";
        for text in [text.to_string(), text.replace('\n', "\r\n")] {
            let mut rows = CsvRows::new(text.as_bytes(), "x.csv").unwrap();
            let line = |rows: &CsvRows<_>| rows.fault((String::new(), String::new())).line.unwrap();
            let mut lines = vec![line(&rows)];
            while rows.read().unwrap().is_some() {
                lines.push(line(&rows));
            }
            assert_eq!(lines[..4], [3, 4, 7, 8]);
        }
    }
}
