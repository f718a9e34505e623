//! Hosts of leaves: on one leaf each, or on several side by side.

use super::LinkSettings;
use super::builder::Builder;
use crate::{FabricError, Tier};

/// Hosts that hang on leaves. With `links` of 1 each has a link to its leaf. With more, so many neighbouring leaves are a rack,
/// and each of its hosts has a network card with a link to each of them (two: dual ToR).
pub(super) struct LeafHosts<'a> {
    pub(super) leaves: u32,
    pub(super) hosts_per_leaf: u32,
    pub(super) links: u32,
    pub(super) link: &'a LinkSettings,
}

impl LeafHosts<'_> {
    /// Refuses racks that do not divide `leaves`, the number that key `of` gives.
    pub(super) fn check(&self, of: &str, leaves: u32) -> Result<(), FabricError> {
        if leaves.is_multiple_of(self.links) {
            return Ok(());
        }
        let problem = format!("{}, where {of} is {leaves}", self.links);
        Err(FabricError::new(
            "links_per_host",
            problem,
            "racks are of so many leaves: give a divisor of their number",
        ))
    }

    /// Number of hosts. Those of a rack are on each of its leaves.
    pub(super) fn count(&self) -> u32 {
        self.leaves / self.links * self.hosts_per_leaf
    }

    /// Number of nodes before the first leaf: hosts and network cards.
    pub(super) fn nodes(&self) -> u32 {
        if self.links == 1 { self.count() } else { 2 * self.count() }
    }

    /// Adds hosts, and then network cards, each in the pod of its leaves.
    pub(super) fn add(&self, builder: &mut Builder, pod_of_leaf: impl Fn(u32) -> Option<u32>) {
        for (name, tier) in
            [("host", Tier::Host), ("nic", Tier::Nic)].into_iter().take(self.links.min(2) as usize)
        {
            for host in 0..self.count() {
                builder.node(format!("{name}{host}"), tier, pod_of_leaf(self.first_leaf(host)));
            }
        }
    }

    /// Links hosts to their leaves, the first of which is node `first`.
    ///
    /// # Errors
    /// Refuses a host faster than links can be.
    pub(super) fn join(&self, builder: &mut Builder, first: u32) -> Result<(), FabricError> {
        let value = self.links.to_string();
        for host in 0..self.count() {
            let leaf = first + self.first_leaf(host);
            if self.links == 1 {
                builder.link(host, leaf, self.link);
                continue;
            }
            let card = self.count() + host;
            builder.card(
                host,
                card,
                (0..self.links).map(|_| self.link.rate),
                (Some("links_per_host"), &value),
            )?;
            for side in 0..self.links {
                builder.link(card, leaf + side, self.link);
            }
        }
        Ok(())
    }

    fn first_leaf(&self, host: u32) -> u32 {
        host / self.hosts_per_leaf * self.links
    }
}
