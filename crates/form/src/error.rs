//! The one error of scenarios: where, what, and the hint.

use std::fmt;
use std::sync::Arc;

/// Location in the user's input: a line of a file, or an override on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file as the user named it, or the override as written: `-o seed=7`.
    pub source: Arc<str>,
    /// Line of the file, from one; none for an override, or where the whole file is meant.
    pub line: Option<u32>,
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "{}:{line}", self.source),
            None => out.write_str(&self.source),
        }
    }
}

/// Why a scenario is none, and what to do about it. Reads `file:line: problem; hint`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {problem}; {hint}")]
pub struct FormError {
    /// Location in a file or on the command line.
    pub position: Position,
    /// The key and value at fault, and what is wrong with them.
    pub problem: String,
    /// Hint for people.
    pub hint: String,
}

impl FormError {
    /// An error from its parts.
    pub fn new(position: Position, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { position, problem: problem.into(), hint: hint.into() }
    }

    /// The same with the key at fault.
    pub fn within(self, key: &str) -> Self {
        Self { problem: format!("{key}: {}", self.problem), ..self }
    }
}
