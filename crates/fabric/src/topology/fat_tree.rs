//! Fat-tree of k-port switches (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008).

use super::{Clos, LinkSettings};
use crate::{Fabric, FabricError};

/// A k-ary fat-tree: k pods of k/2 leaves and k/2 aggregations, (k/2)^2 cores, k/2 hosts a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct FatTree {
    /// Number of ports of a switch and of pods. It is even.
    pub k: u32,
    /// Number of hosts of each leaf: k/2 without over-subscription, 2 k for 4:1. Zero stands for k/2.
    pub hosts_per_leaf: u32,
    /// Number of links of each host, as in [`Clos`].
    pub links_per_host: u32,
    /// Settings of the hosts' links.
    pub host_link: LinkSettings,
    /// Settings of the links between switches.
    pub uplink: LinkSettings,
}

impl Default for FatTree {
    fn default() -> Self {
        Self {
            k: 4,
            hosts_per_leaf: 0,
            links_per_host: 1,
            host_link: LinkSettings::default(),
            uplink: LinkSettings::default(),
        }
    }
}

impl FatTree {
    /// Builds nodes and ports in the order of [`Clos::build`].
    ///
    /// # Errors
    /// Refuses an odd k, and too many nodes.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        if self.k == 0 || !self.k.is_multiple_of(2) {
            return Err(FabricError::new("k", self.k.to_string(), "give an even number of ports, 2 or more"));
        }
        let half = self.k / 2;
        Clos {
            pods: self.k,
            leaves_per_pod: half,
            aggregations_per_pod: half,
            cores_per_aggregation: half,
            hosts_per_leaf: if self.hosts_per_leaf == 0 { half } else { self.hosts_per_leaf },
            links_per_host: self.links_per_host,
            host_link: self.host_link,
            uplink: self.uplink,
            core_link: self.uplink,
        }
        .build()
    }
}
