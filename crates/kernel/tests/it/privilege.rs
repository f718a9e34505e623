//! Tests that need the kernel's permission say so where they do not have it, and pass.

use anabranch_kernel::KernelError;
use std::io::Write as _;

/// Loaded value; `None` if the kernel does not permit it. A refusal for another reason fails the test.
#[allow(clippy::explicit_write)] // Past the test runner, which would keep it to itself.
pub(crate) fn permitted<T>(test: &str, loaded: Result<T, KernelError>) -> Option<T> {
    match loaded {
        Ok(loaded) => Some(loaded),
        // EPERM; the verifier's own refusals are others.
        Err(error) if error.to_string().contains("(os error 1)") => {
            let _ = writeln!(std::io::stderr(), "skipped: {test}: {error}");
            None
        }
        Err(error) => panic!("{test}: {error}"),
    }
}
