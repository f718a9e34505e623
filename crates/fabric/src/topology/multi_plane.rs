//! Multi-plane: hosts whose network card has a port in each of several planes, which are leaf-spine fabrics of their own.

use super::LinkSettings;
use super::builder::Builder;
use crate::{Fabric, FabricError, Tier};

/// Fabric of parallel planes, as in Alibaba's HPN (SIGCOMM 2024), DeepSeek-V3's network (ISCA 2025) and MRC (OCP 2026). A
/// host's network card is a switch of tier [`Tier::Nic`], without delay, which the host is linked to at the rate of all
/// its ports together; port p of it leads into plane p, and planes meet nowhere else.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiPlane {
    /// Number of planes, which is that of the ports of each network card.
    pub planes: u32,
    /// Number of leaves of each plane.
    pub leaves: u32,
    /// Number of spines of each plane.
    pub spines: u32,
    /// Number of hosts of each leaf; the hosts of leaf l are the same in every plane.
    pub hosts_per_leaf: u32,
    /// Settings of the links between network cards and leaves. Frames wait at the card's port as at a switch's.
    pub host_link: LinkSettings,
    /// Settings of the links between leaves and spines.
    pub uplink: LinkSettings,
}

impl Default for MultiPlane {
    fn default() -> Self {
        Self {
            planes: 2,
            leaves: 4,
            spines: 2,
            hosts_per_leaf: 4,
            host_link: LinkSettings::default(),
            uplink: LinkSettings::default(),
        }
    }
}

impl MultiPlane {
    /// Builds hosts, network cards, then leaves and spines plane by plane; links of hosts, of network cards by plane, then
    /// of leaves plane by plane.
    ///
    /// # Errors
    /// Refuses a count of zero, a host faster than links can be, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self { planes, leaves, spines, hosts_per_leaf, .. } = *self;
        let counts =
            [("planes", planes), ("leaves", leaves), ("spines", spines), ("hosts_per_leaf", hosts_per_leaf)];
        let [p, l, s, h] = counts.map(|(_, count)| u128::from(count));
        let mut builder = Builder::new(&counts, 2 * l * h + p * (l + s), l * h * (1 + p) + p * l * s)?;
        let hosts = leaves * hosts_per_leaf;
        for host in 0..hosts {
            builder.node(format!("host{host}"), Tier::Host, None);
        }
        for host in 0..hosts {
            builder.node(format!("nic{host}"), Tier::Nic, None);
        }
        for plane in 0..planes {
            for leaf in 0..leaves {
                builder.node(format!("leaf{plane}.{leaf}"), Tier::Leaf, None);
            }
        }
        for plane in 0..planes {
            for spine in 0..spines {
                builder.node(format!("spine{plane}.{spine}"), Tier::Spine, None);
            }
        }
        let (first_leaf, first_spine) = (2 * hosts, 2 * hosts + planes * leaves);
        let value = planes.to_string();
        for host in 0..hosts {
            builder.card(
                host,
                hosts + host,
                (0..planes).map(|_| self.host_link.rate),
                (Some("planes"), &value),
            )?;
        }
        for host in 0..hosts {
            for plane in 0..planes {
                let leaf = first_leaf + plane * leaves + host / hosts_per_leaf;
                builder.link(hosts + host, leaf, &self.host_link);
            }
        }
        for plane in 0..planes {
            for leaf in 0..leaves {
                for spine in 0..spines {
                    let ends = (first_leaf + plane * leaves + leaf, first_spine + plane * spines + spine);
                    builder.link(ends.0, ends.1, &self.uplink);
                }
            }
        }
        builder.build()
    }
}
