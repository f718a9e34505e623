//! A broken invariant.

use std::fmt;

/// Invariant that a run broke, with evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Name of the invariant, or position of a panic: two runs with the same one are taken for the same failure.
    pub(crate) invariant: String,
    /// Numbers that contradict it.
    pub(crate) detail: String,
}

impl Broken {
    pub(crate) fn new(invariant: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { invariant: invariant.into(), detail: detail.into() }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.invariant, self.detail)
    }
}

/// Refuses two numbers that should be equal.
pub(crate) fn same(invariant: &str, what: &str, one: u64, other: u64) -> Result<(), Broken> {
    if one == other {
        return Ok(());
    }
    Err(Broken::new(invariant, format!("{what}: {one} and {other}")))
}

/// Refuses a claim that does not hold.
pub(crate) fn holds(holds: bool, invariant: &str, detail: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken::new(invariant, detail())) }
}
