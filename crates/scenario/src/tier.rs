//! Names of tiers.

use anabranch_fabric::Tier;

/// A tier as columns name it: the highest is `spine` in every fabric.
#[must_use]
pub fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Host => "host",
        Tier::Server => "server",
        Tier::Nic => "nic",
        Tier::Leaf => "leaf",
        Tier::Aggregation => "aggregation",
        Tier::Spine => "spine",
    }
}
