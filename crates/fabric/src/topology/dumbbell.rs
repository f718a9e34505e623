//! Dumbbell: two switches with hosts, and one bottleneck between them.

use super::LinkSettings;
use super::builder::Builder;
use crate::{Fabric, FabricError, Tier};

/// Dumbbell of two switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// Number of hosts on each side.
    pub hosts_per_side: u32,
    /// Settings of the hosts' links.
    pub host_link: LinkSettings,
    /// Settings of the link in the middle.
    pub bottleneck: LinkSettings,
}

impl Default for Dumbbell {
    fn default() -> Self {
        Self { hosts_per_side: 2, host_link: LinkSettings::default(), bottleneck: LinkSettings::default() }
    }
}

impl Dumbbell {
    /// Builds the fabric; hosts of the left switch come first.
    ///
    /// # Errors
    /// Refuses no hosts, and too many.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let side = self.hosts_per_side;
        let mut builder =
            Builder::new(&[("hosts_per_side", side)], 2 * u128::from(side) + 2, 2 * u128::from(side) + 1)?;
        for host in 0..2 * side {
            builder.node(format!("host{host}"), Tier::Host, None);
        }
        let left = builder.node("leaf0".into(), Tier::Leaf, None);
        let right = builder.node("leaf1".into(), Tier::Leaf, None);
        for host in 0..2 * side {
            builder.link(host, if host < side { left } else { right }, &self.host_link);
        }
        builder.link(left, right, &self.bottleneck);
        builder.build()
    }
}
