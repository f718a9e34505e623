//! Dragonfly: groups of fully meshed routers, joined by links between groups (Kim, Dally, Scott, Abts, ISCA 2008).

use super::LinkSettings;
use super::builder::Builder;
use crate::{Fabric, FabricError, Tier};

/// Cost of a link between groups to routing, where one within a group costs 1. The minimal path of the paper crosses one
/// link between groups and at most one within each of the two, for 5 at most; any path over two links between groups
/// costs 6 or more.
const GLOBAL_COST: u32 = 3;

/// Dragonfly. The routers of a group are fully meshed; each has links to other groups. In group i, the links between groups
/// are numbered router by router, and number q leads to the group that follows i by 1 + q modulo (groups - 1): the
/// consecutive arrangement, in which link q of a group is link groups - 2 - q of the other (both modulo groups - 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Dragonfly {
    /// Number of routers of each group, a in the paper.
    pub routers_per_group: u32,
    /// Number of hosts of each router, p in the paper.
    pub hosts_per_router: u32,
    /// Number of links to other groups of each router, h in the paper.
    pub global_links_per_router: u32,
    /// Number of groups, g in the paper: a h + 1 at most, which zero stands for. Between two groups of fewer there are as
    /// many links as each pair can have; what is left over has no link.
    pub groups: u32,
    /// Settings of the hosts' links.
    pub host_link: LinkSettings,
    /// Settings of the links between routers of a group.
    pub local_link: LinkSettings,
    /// Settings of the links between groups.
    pub global_link: LinkSettings,
}

impl Default for Dragonfly {
    /// The paper's balance a = 2 p = 2 h, at its smallest: 9 groups, 72 hosts.
    fn default() -> Self {
        Self {
            routers_per_group: 4,
            hosts_per_router: 2,
            global_links_per_router: 2,
            groups: 0,
            host_link: LinkSettings::default(),
            local_link: LinkSettings::default(),
            global_link: LinkSettings::default(),
        }
    }
}

impl Dragonfly {
    /// Largest number of groups: each has a link to every other.
    #[must_use]
    pub fn most_groups(&self) -> u32 {
        self.routers_per_group.saturating_mul(self.global_links_per_router).saturating_add(1)
    }

    /// Builds hosts, then routers group by group; links of hosts, then those within groups, then those between groups by
    /// the number of the lower group.
    ///
    /// # Errors
    /// Refuses a count of zero, more groups than links lead to, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self { routers_per_group, hosts_per_router, global_links_per_router, .. } = *self;
        let most = self.most_groups();
        let groups = if self.groups == 0 { most } else { self.groups };
        let counts = [
            ("routers_per_group", routers_per_group),
            ("hosts_per_router", hosts_per_router),
            ("global_links_per_router", global_links_per_router),
            ("groups", groups),
        ];
        let [a, p, h, g] = counts.map(|(_, count)| u128::from(count));
        let links = g * a * p + g * (a * a.saturating_sub(1) / 2) + g * a * h / 2;
        let mut builder = Builder::new(&counts, g * a * (p + 1), links)?;
        if groups > most {
            return Err(FabricError::new(
                "groups",
                groups.to_string(),
                format!("give at most routers_per_group x global_links_per_router + 1 = {most}"),
            ));
        }
        let routers = groups * routers_per_group;
        let hosts = routers * hosts_per_router;
        for host in 0..hosts {
            builder.node(
                format!("host{host}"),
                Tier::Host,
                Some(host / hosts_per_router / routers_per_group),
            );
        }
        for router in 0..routers {
            let group = router / routers_per_group;
            builder.node(format!("router{group}.{}", router % routers_per_group), Tier::Leaf, Some(group));
        }
        for host in 0..hosts {
            builder.link(host, hosts + host / hosts_per_router, &self.host_link);
        }
        for router in 0..routers {
            let after = (router / routers_per_group + 1) * routers_per_group;
            for other in router + 1..after {
                builder.link(hosts + router, hosts + other, &self.local_link);
            }
        }
        let per_pair = if groups > 1 { (most - 1) / (groups - 1) } else { 0 };
        let router_of =
            |group: u32, number: u32| hosts + group * routers_per_group + number / global_links_per_router;
        for group in 0..groups {
            for other in group + 1..groups {
                for copy in 0..per_pair {
                    let forth = copy * (groups - 1) + (other - group - 1);
                    let back = copy * (groups - 1) + (groups - 1 - (other - group));
                    builder.link_of_cost(
                        router_of(group, forth),
                        router_of(other, back),
                        &self.global_link,
                        GLOBAL_COST,
                    );
                }
            }
        }
        builder.build()
    }
}
