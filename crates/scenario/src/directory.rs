//! Nodes, links and ports of a fabric by name.

use anabranch_fabric::Fabric;
use anabranch_form::unit::Named;
use anabranch_form::{FormError, nearest};
use std::collections::BTreeMap;

/// Most names that a message lists.
const LISTED: usize = 8;

/// Finds what names mean in a fabric.
///
/// `a-b` is a link in both directions, `a>b` the direction from `a` to `b`. Parallel links are meant all together, or
/// one of them by its number from zero, `a-b#0`.
pub(crate) struct Directory<'a> {
    fabric: &'a Fabric,
    nodes: BTreeMap<&'a str, u32>,
}

impl<'a> Directory<'a> {
    pub(crate) fn of(fabric: &'a Fabric) -> Self {
        let names = fabric.nodes().iter().map(|node| node.name.as_str());
        Self { fabric, nodes: names.zip(0..).collect() }
    }

    /// The number of a switch.
    pub(crate) fn switch(&self, name: &Named) -> Result<u32, FormError> {
        let node = self.node(name, &name.text)?;
        if node < self.fabric.hosts() {
            let hint = format!("name a switch such as {}", self.name(self.fabric.hosts()));
            return Err(FormError::new(name.position.clone(), format!("{} is a host", name.text), hint));
        }
        Ok(node)
    }

    /// The ports that send over a link: of both its ends for `a-b`, of `a` for `a>b`.
    pub(crate) fn link(&self, name: &Named) -> Result<Vec<u32>, FormError> {
        let (ends, number) = match name.text.rsplit_once('#') {
            None => (name.text.as_str(), None),
            Some((ends, number)) => match number.parse::<usize>() {
                Ok(number) => (ends, Some(number)),
                Err(_) => (name.text.as_str(), None),
            },
        };
        let (from, to, both) = self.ends(name, ends)?;
        let all: Vec<u32> = self.between(from, to).collect();
        let chosen = match number {
            None => all.clone(),
            Some(number) => all.get(number).copied().into_iter().collect(),
        };
        if chosen.is_empty() {
            let (problem, hint) = if all.is_empty() {
                let neighbours = self.listed(self.fabric.ports_of(from).iter().map(|&port| self.to(port)));
                let hint = format!("{} has links to {neighbours}", self.name(from));
                (format!("{} and {} have no link", self.name(from), self.name(to)), hint)
            } else {
                let hint = format!("number its parallel links from 0 to {}", all.len() - 1);
                (format!("`{}`: there is no such parallel link", name.text), hint)
            };
            return Err(FormError::new(name.position.clone(), problem, hint));
        }
        let back = |&port: &u32| self.fabric.ports()[port as usize].reverse;
        Ok(if both { chosen.iter().flat_map(|port| [*port, back(port)]).collect() } else { chosen })
    }

    /// The ports that a name of a direction means, or all of a node's.
    pub(crate) fn ports(&self, name: &Named) -> Result<Vec<u32>, FormError> {
        match self.nodes.get(name.text.as_str()) {
            Some(&node) => Ok(self.fabric.ports_of(node).to_vec()),
            None => self.link(name),
        }
    }

    /// The two nodes of a direction `a>b`, which has a link.
    pub(crate) fn direction(&self, name: &Named) -> Result<(u32, u32), FormError> {
        if !name.text.contains('>') || name.text.contains('#') {
            let problem = format!("`{}` is not one direction of a link", name.text);
            return Err(FormError::new(name.position.clone(), problem, "write it as \"leaf0>spine1\""));
        }
        self.link(name)?;
        let (from, to, _) = self.ends(name, &name.text)?;
        Ok((from, to))
    }

    /// `from`, `to`, and whether both directions are meant.
    fn ends(&self, name: &Named, text: &str) -> Result<(u32, u32, bool), FormError> {
        if let Some((from, to)) = text.split_once('>') {
            return Ok((self.node(name, from)?, self.node(name, to)?, false));
        }
        // Names from a file may hold dashes of their own: the split at which both halves are nodes counts.
        let splits = || text.match_indices('-').map(|(at, _)| (&text[..at], &text[at + 1..]));
        if let Some((from, to)) = splits()
            .find(|(from, to)| self.nodes.contains_key(from.trim()) && self.nodes.contains_key(to.trim()))
        {
            return Ok((self.node(name, from)?, self.node(name, to)?, true));
        }
        let Some((from, to)) = splits().next() else {
            let problem = format!("`{}` is no link", name.text);
            let hint = "write it as \"leaf0-spine1\", or as \"leaf0>spine1\" for one direction";
            return Err(FormError::new(name.position.clone(), problem, hint));
        };
        Ok((self.node(name, from)?, self.node(name, to)?, true))
    }

    fn node(&self, name: &Named, text: &str) -> Result<u32, FormError> {
        let text = text.trim();
        self.nodes.get(text).copied().ok_or_else(|| {
            let near = nearest::near(text, self.nodes.keys().copied());
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("nodes are {}", self.listed(self.fabric.hosts()..self.nodes.len() as u32)),
            };
            FormError::new(name.position.clone(), format!("the fabric has no node `{text}`"), hint)
        })
    }

    fn between(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        self.fabric.ports_of(from).iter().copied().filter(move |&port| self.to(port) == to)
    }

    fn to(&self, port: u32) -> u32 {
        self.fabric.ports()[port as usize].to
    }

    fn name(&self, node: u32) -> &str {
        &self.fabric.nodes()[node as usize].name
    }

    /// Names of nodes, switches first, cut to a line.
    fn listed(&self, nodes: impl Iterator<Item = u32>) -> String {
        let mut nodes: Vec<u32> = nodes.collect();
        nodes.sort_by_key(|&node| (node < self.fabric.hosts(), node));
        nodes.dedup();
        let mut names: Vec<&str> = nodes.iter().take(LISTED).map(|&node| self.name(node)).collect();
        if nodes.len() > LISTED {
            names.push("...");
        }
        names.join(", ")
    }
}
