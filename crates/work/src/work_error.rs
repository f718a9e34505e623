//! Errors in a workload graph and in the files that describe one.

/// Error in a workload graph: its position, what is wrong, and what would work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {problem}; {hint}")]
pub struct WorkError {
    /// File with a line or a byte offset (`ring.goal:7`, `ring.bin: byte 40`), or the rank of a graph without a file.
    pub position: String,
    /// Problem.
    pub problem: String,
    /// Hint.
    pub hint: String,
}

impl WorkError {
    /// Joins the parts of an error.
    pub fn new(position: impl Into<String>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { position: position.into(), problem: problem.into(), hint: hint.into() }
    }

    /// Makes an error in a line of a file.
    pub(crate) fn at_line(
        file: &str,
        line: u32,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(format!("{file}:{line}"), problem, hint)
    }

    /// Makes an error at a byte of a file.
    pub(crate) fn at_byte(
        file: &str,
        offset: usize,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(format!("{file}: byte {offset}"), problem, hint)
    }
}
