//! Clos of three tiers: pods of leaves and aggregations, and a core above them.

use super::LinkSettings;
use super::builder::Builder;
use super::hosts::LeafHosts;
use crate::{Fabric, FabricError, Tier};

/// Fabric of three tiers. Within a pod every leaf is linked to every aggregation. The cores form as many groups as a
/// pod has aggregations; aggregation number a of every pod is linked to every core of group a.
#[derive(Clone, Debug, PartialEq)]
pub struct Clos {
    /// Number of pods.
    pub pods: u32,
    /// Number of leaves of each pod.
    pub leaves_per_pod: u32,
    /// Number of aggregations of each pod.
    pub aggregations_per_pod: u32,
    /// Number of cores of each group, which is the number of uplinks of each aggregation.
    pub cores_per_aggregation: u32,
    /// Number of hosts of each leaf.
    pub hosts_per_leaf: u32,
    /// Number of links of each host, each to another leaf: 2 is dual ToR. So many neighbouring leaves of a pod share their hosts.
    pub links_per_host: u32,
    /// Settings of the hosts' links.
    pub host_link: LinkSettings,
    /// Settings of the links between leaves and aggregations.
    pub uplink: LinkSettings,
    /// Settings of the links between aggregations and cores.
    pub core_link: LinkSettings,
}

impl Default for Clos {
    fn default() -> Self {
        Self {
            pods: 4,
            leaves_per_pod: 2,
            aggregations_per_pod: 2,
            cores_per_aggregation: 2,
            hosts_per_leaf: 4,
            links_per_host: 1,
            host_link: LinkSettings::default(),
            uplink: LinkSettings::default(),
            core_link: LinkSettings::default(),
        }
    }
}

impl Clos {
    /// Builds nodes and ports tier by tier, and each tier pod by pod.
    ///
    /// # Errors
    /// Refuses a count of zero, links of hosts that do not divide the leaves of a pod, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self {
            pods,
            leaves_per_pod,
            aggregations_per_pod,
            cores_per_aggregation,
            hosts_per_leaf,
            links_per_host,
            ..
        } = *self;
        let counts = [
            ("pods", pods),
            ("leaves_per_pod", leaves_per_pod),
            ("aggregations_per_pod", aggregations_per_pod),
            ("cores_per_aggregation", cores_per_aggregation),
            ("hosts_per_leaf", hosts_per_leaf),
            ("links_per_host", links_per_host),
        ];
        let [p, l, a, c, h, _] = counts.map(|(_, count)| u128::from(count));
        let nodes = p * l * (h + 1) + p * a + a * c;
        // Links of hosts and their network cards, for each host of a leaf.
        let cards = if links_per_host > 1 { 2 } else { 1 };
        let mut builder = Builder::new(&counts, nodes, p * l * (cards * h + a) + p * a * c)?;
        let leaf_count = pods * leaves_per_pod;
        let hosts =
            LeafHosts { leaves: leaf_count, hosts_per_leaf, links: links_per_host, link: &self.host_link };
        hosts.check("leaves_per_pod", leaves_per_pod)?;
        hosts.add(&mut builder, |leaf| Some(leaf / leaves_per_pod));
        for leaf in 0..leaf_count {
            builder.node(format!("leaf{leaf}"), Tier::Leaf, Some(leaf / leaves_per_pod));
        }
        for pod in 0..pods {
            for aggregation in 0..aggregations_per_pod {
                builder.node(format!("agg{pod}.{aggregation}"), Tier::Aggregation, Some(pod));
            }
        }
        for core in 0..aggregations_per_pod * cores_per_aggregation {
            builder.node(format!("core{core}"), Tier::Spine, None);
        }
        let (first_leaf, first_aggregation) = (hosts.nodes(), hosts.nodes() + leaf_count);
        let first_core = first_aggregation + pods * aggregations_per_pod;
        hosts.join(&mut builder, first_leaf)?;
        for leaf in 0..leaf_count {
            let pod = leaf / leaves_per_pod;
            for aggregation in 0..aggregations_per_pod {
                let above = first_aggregation + pod * aggregations_per_pod + aggregation;
                builder.link(first_leaf + leaf, above, &self.uplink);
            }
        }
        for number in 0..pods * aggregations_per_pod {
            let group = number % aggregations_per_pod;
            for core in 0..cores_per_aggregation {
                let above = first_core + group * cores_per_aggregation + core;
                builder.link(first_aggregation + number, above, &self.core_link);
            }
        }
        builder.build()
    }
}
