//! Refusals of the kernel in its own words, each with a hint.

use std::format;
use std::string::{String, ToString};

/// Capabilities that loading takes. The verifier accepts sums of packet pointers and lengths with `CAP_PERFMON` only.
pub(crate) const PRIVILEGES: &str = "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON";

/// Refusal of the kernel, or a request that no program can carry.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct KernelError {
    what: String,
    why: String,
}

impl KernelError {
    /// Error about `what`, with the reason or what to do instead.
    pub(crate) fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }

    /// An error of the library or the kernel, with all that is behind it.
    pub(crate) fn of<E: std::error::Error>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |error| {
            // The system call's own words are at the end of the chain.
            let mut why = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                let words = error.to_string();
                if !why.contains(&words) {
                    why = format!("{why}: {words}");
                }
                cause = error.source();
            }
            if let Some((said, log)) = why.split_once(" Verifier output: ") {
                why = format!("{said} {}", reason(log));
            }
            if why.contains("os error 1)") || why.contains("os error 13)") {
                why = format!(
                    "{why}; this takes {PRIVILEGES}, and a folder that is this user's to write; or root"
                );
            }
            Self { what, why }
        }
    }
}

/// The one line of the verifier's log that says why it refused: the last before its statistics.
fn reason(log: &str) -> &str {
    const STATISTICS: [&str; 3] = ["verification time", "stack depth", "processed"];
    let telling = |line: &&str| !line.is_empty() && !STATISTICS.iter().any(|one| line.starts_with(one));
    log.lines().map(str::trim).rfind(telling).unwrap_or_default()
}
