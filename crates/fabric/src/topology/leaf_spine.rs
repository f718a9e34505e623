//! Leaf-spine: every leaf linked to every spine.

use super::LinkSettings;
use super::builder::Builder;
use super::hosts::LeafHosts;
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
    /// Number of links of each host, each to another leaf: 2 is dual ToR. So many neighbouring leaves share their hosts.
    pub links_per_host: u32,
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
            links_per_host: 1,
            parallel_links: 1,
            host_link: LinkSettings::default(),
            uplink: LinkSettings::default(),
        }
    }
}

impl LeafSpine {
    /// Builds ports in this order: host and leaf of each host, by its network card if it has several; then leaf and spine of each pair, by leaf, spine, link.
    ///
    /// # Errors
    /// Refuses a count of zero, links of hosts that do not divide the leaves, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self { leaves, spines, hosts_per_leaf, links_per_host, parallel_links, .. } = *self;
        let counts = [
            ("leaves", leaves),
            ("spines", spines),
            ("hosts_per_leaf", hosts_per_leaf),
            ("links_per_host", links_per_host),
            ("parallel_links", parallel_links),
        ];
        let [l, s, h, _, p] = counts.map(|(_, count)| u128::from(count));
        // Links of hosts and their network cards, for each host of a leaf.
        let cards = if links_per_host > 1 { 2 } else { 1 };
        let mut builder = Builder::new(&counts, l * (h + 1) + s, l * (cards * h + s * p))?;
        let hosts = LeafHosts { leaves, hosts_per_leaf, links: links_per_host, link: &self.host_link };
        hosts.check("leaves", leaves)?;
        let first_leaf = hosts.nodes();
        hosts.add(&mut builder, |_| None);
        for leaf in 0..leaves {
            builder.node(format!("leaf{leaf}"), Tier::Leaf, None);
        }
        for spine in 0..spines {
            builder.node(format!("spine{spine}"), Tier::Spine, None);
        }
        hosts.join(&mut builder, first_leaf)?;
        for leaf in 0..leaves {
            for spine in 0..spines {
                for _ in 0..parallel_links {
                    builder.link(first_leaf + leaf, first_leaf + leaves + spine, &self.uplink);
                }
            }
        }
        builder.build()
    }
}
