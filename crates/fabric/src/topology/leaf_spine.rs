//! Leaf-spine: every leaf linked to every spine.

use super::LinkSettings;
use super::builder::Builder;
use crate::{Fabric, FabricError, Tier};

/// Fabric of leaves and spines.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSpine {
    /// Number of leaves.
    pub leaves: u32,
    /// Number of spines.
    pub spines: u32,
    /// Number of hosts of each leaf.
    pub hosts_per_leaf: u32,
    /// Number of links between each leaf and each spine.
    pub parallel_links: u32,
    /// Settings of the hosts' links.
    pub host_link: LinkSettings,
    /// Settings of the links between leaves and spines.
    pub uplink: LinkSettings,
}

impl Default for LeafSpine {
    fn default() -> Self {
        Self {
            leaves: 4,
            spines: 4,
            hosts_per_leaf: 8,
            parallel_links: 1,
            host_link: LinkSettings::default(),
            uplink: LinkSettings::default(),
        }
    }
}

impl LeafSpine {
    /// Builds ports in this order: host and leaf of each host; then leaf and spine of each pair, by leaf, spine, link.
    ///
    /// # Errors
    /// Refuses a count of zero, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self { leaves, spines, hosts_per_leaf, parallel_links, .. } = *self;
        let counts = [
            ("leaves", leaves),
            ("spines", spines),
            ("hosts_per_leaf", hosts_per_leaf),
            ("parallel_links", parallel_links),
        ];
        let [l, s, h, p] = counts.map(|(_, count)| u128::from(count));
        let mut builder = Builder::new(&counts, l * (h + 1) + s, l * (h + s * p))?;
        let hosts = leaves * hosts_per_leaf;
        for host in 0..hosts {
            builder.node(format!("host{host}"), Tier::Host, None);
        }
        for leaf in 0..leaves {
            builder.node(format!("leaf{leaf}"), Tier::Leaf, None);
        }
        for spine in 0..spines {
            builder.node(format!("spine{spine}"), Tier::Spine, None);
        }
        for host in 0..hosts {
            builder.link(host, hosts + host / hosts_per_leaf, &self.host_link);
        }
        for leaf in 0..leaves {
            for spine in 0..spines {
                for _ in 0..parallel_links {
                    builder.link(hosts + leaf, hosts + leaves + spine, &self.uplink);
                }
            }
        }
        builder.build()
    }
}
