//! Why something of a run cannot be written.

use std::io;

/// What is wrong, and the mend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The system refuses.
    #[error("{file}: cannot be written: {source}; mend that, or choose another folder")]
    Write {
        /// The file or folder.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Frames that cannot carry the headers of a capture.
    #[error("{file}: {problem}; {mend}")]
    Framing {
        /// The capture.
        file: String,
        /// The size, and what it contradicts.
        problem: String,
        /// What would work.
        mend: &'static str,
    },
}
