//! VL2 (Greenberg et al., SIGCOMM 2009, section 4.1): leaves with two uplinks, aggregations and intermediates fully
//! meshed.

use super::LinkSettings;
use super::builder::Builder;
use super::hosts::LeafHosts;
use crate::{Fabric, FabricError, Tier};

/// VL2 fabric. Leaf number i is linked to aggregations 2i and 2i + 1, modulo their number; every aggregation is linked
/// to every intermediate switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Vl2 {
    /// Number of leaves.
    pub leaves: u32,
    /// Number of aggregations. It is even.
    pub aggregations: u32,
    /// Number of intermediate switches, the top tier.
    pub intermediates: u32,
    /// Number of hosts of each leaf.
    pub hosts_per_leaf: u32,
    /// Number of links of each host, each to another leaf: 2 is dual ToR. So many neighbouring leaves share their hosts.
    pub links_per_host: u32,
    /// Settings of the hosts' links.
    pub host_link: LinkSettings,
    /// Settings of the links between switches.
    pub uplink: LinkSettings,
}

impl Default for Vl2 {
    fn default() -> Self {
        Self {
            leaves: 4,
            aggregations: 4,
            intermediates: 2,
            hosts_per_leaf: 8,
            links_per_host: 1,
            host_link: LinkSettings::default(),
            uplink: LinkSettings::default(),
        }
    }
}

impl Vl2 {
    /// Builds nodes and ports tier by tier.
    ///
    /// # Errors
    /// Refuses a count of zero, links of hosts that do not divide the leaves, an odd number of aggregations, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self { leaves, aggregations, intermediates, hosts_per_leaf, links_per_host, .. } = *self;
        let counts = [
            ("leaves", leaves),
            ("aggregations", aggregations),
            ("intermediates", intermediates),
            ("hosts_per_leaf", hosts_per_leaf),
            ("links_per_host", links_per_host),
        ];
        let [l, a, i, h, _] = counts.map(|(_, count)| u128::from(count));
        // Links of hosts and their network cards, for each host of a leaf.
        let cards = if links_per_host > 1 { 2 } else { 1 };
        let mut builder = Builder::new(&counts, l * (h + 1) + a + i, l * (cards * h + 2) + a * i)?;
        if !aggregations.is_multiple_of(2) {
            return Err(FabricError::new(
                "aggregations",
                aggregations.to_string(),
                "give an even number: each leaf is linked to a pair",
            ));
        }
        let hosts = LeafHosts { leaves, hosts_per_leaf, links: links_per_host, link: &self.host_link };
        hosts.check("leaves", leaves)?;
        let first_leaf = hosts.nodes();
        hosts.add(&mut builder, |_| None);
        for leaf in 0..leaves {
            builder.node(format!("leaf{leaf}"), Tier::Leaf, None);
        }
        for aggregation in 0..aggregations {
            builder.node(format!("agg{aggregation}"), Tier::Aggregation, None);
        }
        for intermediate in 0..intermediates {
            builder.node(format!("spine{intermediate}"), Tier::Spine, None);
        }
        hosts.join(&mut builder, first_leaf)?;
        let first_aggregation = first_leaf + leaves;
        for leaf in 0..leaves {
            for of_pair in 0..2 {
                builder.link(
                    first_leaf + leaf,
                    first_aggregation + (2 * leaf + of_pair) % aggregations,
                    &self.uplink,
                );
            }
        }
        for aggregation in 0..aggregations {
            for intermediate in 0..intermediates {
                let above = first_aggregation + aggregations + intermediate;
                builder.link(first_aggregation + aggregation, above, &self.uplink);
            }
        }
        builder.build()
    }
}
