//! From weights to the gravities that scores are drawn by.

use anabranch_split::apportion::gravity;
use anabranch_split::picks::score::Entry;

/// Rule by which weights become gravities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum GravityRule {
    /// VALO's: shares are the weights.
    #[default]
    Shares,
    /// All the same (a mutation).
    Equal,
    /// The weights themselves (a mutation).
    Plain,
}

impl GravityRule {
    /// Entries of the members with a positive weight.
    pub(crate) fn entries(self, weights: &[u64]) -> Vec<Entry> {
        match self {
            Self::Shares => gravity::entries(weights),
            Self::Equal => gravity::entries(&weights.iter().map(|&weight| weight.min(1)).collect::<Vec<_>>()),
            Self::Plain => gravity::plain_entries(weights),
        }
    }
}
