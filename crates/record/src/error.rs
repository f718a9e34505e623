//! Errors of writing a run's results.

use std::io;

/// Reason why a result cannot be written, with a hint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused to write.
    #[error("{file}: cannot be written: {source}; fix that, or choose another folder")]
    Write {
        /// File or folder.
        file: String,
        /// Reason given by the operating system.
        source: io::Error,
    },
    /// The frames cannot carry the headers of a capture.
    #[error("{file}: {problem}; {hint}")]
    Framing {
        /// File of the capture.
        file: String,
        /// Size at fault, and what it contradicts.
        problem: String,
        /// Settings that would work.
        hint: &'static str,
    },
}
