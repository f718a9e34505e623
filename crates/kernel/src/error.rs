//! Refusals of the kernel in its own words, each with a hint.

use std::string::{String, ToString};
use std::{format, io, iter};

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

    /// An error of the library, with all that is behind it.
    pub(crate) fn of<E: std::error::Error>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |error| {
            // The system call's own words are at the end of the chain.
            let mut why = error.to_string();
            let mut is_refused = false;
            for cause in iter::successors(error.source(), |cause| cause.source()) {
                let words = cause.to_string();
                if !why.contains(&words) {
                    why = format!("{why}: {words}");
                }
                is_refused |= cause.downcast_ref().is_some_and(is_privilege_missing);
            }
            if let Some((said, log)) = why.split_once(" Verifier output: ") {
                why = format!("{said} {}", reason(log));
            }
            Self { what, why: if is_refused { with_privileges(&why) } else { why } }
        }
    }

    /// An error of a system call.
    pub(crate) fn of_call(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| {
            let why = error.to_string();
            Self { what, why: if is_privilege_missing(&error) { with_privileges(&why) } else { why } }
        }
    }
}

/// Whether a system call was refused for want of a privilege.
fn is_privilege_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn with_privileges(why: &str) -> String {
    format!("{why}; this takes {PRIVILEGES}, and a folder that is this user's to write; or root")
}

/// The one line of the verifier's log that says why it refused: the last before its statistics.
fn reason(log: &str) -> &str {
    const STATISTICS: [&str; 3] = ["verification time", "stack depth", "processed"];
    let telling = |line: &&str| !line.is_empty() && !STATISTICS.iter().any(|one| line.starts_with(one));
    log.lines().map(str::trim).rfind(telling).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("no map")]
    struct Behind(#[source] io::Error);

    #[test]
    fn a_call_that_was_refused_names_the_privileges_that_it_takes() {
        let of = |number| KernelError::of("map")(Behind(io::Error::from_raw_os_error(number))).to_string();
        for refused in [1, 13] {
            assert!(of(refused).contains(PRIVILEGES), "{}", of(refused));
        }
        assert_eq!(of(2), "map: no map: No such file or directory (os error 2)");
        let direct = KernelError::of_call("folder")(io::Error::from_raw_os_error(13)).to_string();
        assert!(direct.contains(PRIVILEGES), "{direct}");
    }
}
