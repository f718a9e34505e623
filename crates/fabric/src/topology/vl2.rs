//! VL2 (Greenberg et al., SIGCOMM 2009, section 4.1): leaves with two uplinks, aggregations and intermediates fully
//! meshed.

use super::LinkSettings;
use super::builder::Builder;
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
            host_link: LinkSettings::default(),
            uplink: LinkSettings::default(),
        }
    }
}

impl Vl2 {
    /// Builds nodes and ports tier by tier.
    ///
    /// # Errors
    /// Refuses a count of zero, an odd number of aggregations, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self { leaves, aggregations, intermediates, hosts_per_leaf, .. } = *self;
        let counts = [
            ("leaves", leaves),
            ("aggregations", aggregations),
            ("intermediates", intermediates),
            ("hosts_per_leaf", hosts_per_leaf),
        ];
        let [l, a, i, h] = counts.map(|(_, count)| u128::from(count));
        let mut builder = Builder::new(&counts, l * (h + 1) + a + i, l * (h + 2) + a * i)?;
        if !aggregations.is_multiple_of(2) {
            return Err(FabricError::new(
                format!("aggregations: {aggregations}"),
                "give an even number: each leaf is linked to a pair",
            ));
        }
        let hosts = leaves * hosts_per_leaf;
        for host in 0..hosts {
            builder.node(format!("host{host}"), Tier::Host, None);
        }
        for leaf in 0..leaves {
            builder.node(format!("leaf{leaf}"), Tier::Leaf, None);
        }
        for aggregation in 0..aggregations {
            builder.node(format!("agg{aggregation}"), Tier::Aggregation, None);
        }
        for intermediate in 0..intermediates {
            builder.node(format!("spine{intermediate}"), Tier::Spine, None);
        }
        for host in 0..hosts {
            builder.link(host, hosts + host / hosts_per_leaf, &self.host_link);
        }
        let first_aggregation = hosts + leaves;
        for leaf in 0..leaves {
            for of_pair in 0..2 {
                builder.link(
                    hosts + leaf,
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
