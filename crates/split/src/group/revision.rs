//! State of a group in a few bytes, by which replicas tell whether they agree.

use core::fmt;

/// State of a group in a few bytes. Two groups with the same digest have the same state: they pick the same now, and
/// after the same later updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Revision {
    /// Number of updates since the group was made, those before its snapshots among them.
    pub updates: u64,
    /// Digest of technique, parameters, members and history (XXH3, 128 bits): against accidents, not against attackers.
    pub digest: u128,
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:032x}", self.updates, self.digest)
    }
}
