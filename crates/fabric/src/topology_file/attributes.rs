//! What the attributes of a graph's nodes and edges mean.

use super::Fault;
use super::attribute_graph::{Attribute, AttributeGraph, Attributes};
use super::pairing::{Edge, pair};
use super::rates;
use crate::topology::LinkSettings;
use crate::{Graph, GraphNode, Tier};
use std::collections::{BTreeSet, HashMap};

/// Names of a node's attribute that holds its name.
const NAMES: [&str; 2] = ["name", "label"];
/// Names of the attribute that holds the tier. Those that can say "host" come first: FNSS (fnss.github.io) calls hosts
/// `host` in `type` and `leaf` in `layer`.
const TIERS: [&str; 4] = ["type", "role", "tier", "layer"];
const PODS: [&str; 1] = ["pod"];

/// Words that files use for tiers. The tier of a switch or router is derived from its distance to the hosts.
const TIER_WORDS: [(&str, Option<Tier>); 21] = [
    ("host", Some(Tier::Host)),
    ("server", Some(Tier::Host)),
    ("scale-up", Some(Tier::Server)),
    ("nvswitch", Some(Tier::Server)),
    ("leaf", Some(Tier::Leaf)),
    ("edge", Some(Tier::Leaf)),
    ("tor", Some(Tier::Leaf)),
    ("rack", Some(Tier::Leaf)),
    ("access", Some(Tier::Leaf)),
    ("aggregation", Some(Tier::Aggregation)),
    ("agg", Some(Tier::Aggregation)),
    ("aggr", Some(Tier::Aggregation)),
    ("distribution", Some(Tier::Aggregation)),
    ("spine", Some(Tier::Spine)),
    ("core", Some(Tier::Spine)),
    ("intermediate", Some(Tier::Spine)),
    ("superspine", Some(Tier::Spine)),
    ("super-spine", Some(Tier::Spine)),
    ("switch", None),
    ("router", None),
    ("node", None),
];

impl AttributeGraph<'_> {
    /// Reads the attributes: what nodes and links they describe, and warnings about those that nothing reads. Links have
    /// the settings of `defaults` where the file gives no others.
    pub(super) fn understand(&self, defaults: &LinkSettings) -> Result<(Graph, Vec<String>), Fault> {
        rates::refuse_elsewhere("graph", &self.attributes)?;
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let mut numbers = HashMap::with_capacity(self.nodes.len());
        for node in &self.nodes {
            if numbers.insert(&*node.id, nodes.len() as u32).is_some() {
                let problem = format!("node {}: a second of this id", node.id);
                return Err(Fault::new(node.at, problem, "give every node its own"));
            }
            rates::refuse_elsewhere("node", &node.attributes)?;
            nodes.push(graph_node(&node.id, &node.attributes)?);
        }
        let mut edges = Vec::with_capacity(self.edges.len());
        let mut without = [0; 2];
        for edge in &self.edges {
            let end = |side: &str, id: &str| {
                numbers.get(id).copied().ok_or_else(|| {
                    let hint = "name the id of a node of the graph";
                    Fault::new(edge.at, format!("edge: its {side} {id} is no node"), hint)
                })
            };
            let (source, target) = (end("source", &edge.source)?, end("target", &edge.target)?);
            let (settings, stated) = rates::settings(edge, &self.attributes, defaults)?;
            without.iter_mut().zip(stated).for_each(|(count, stated)| *count += usize::from(!stated));
            edges.push(Edge { source, target, settings, directed: edge.directed, at: edge.at });
        }
        let links = pair(&edges, &nodes)?;
        let mut warnings = rates::unstated(edges.len(), without, defaults);
        warnings.extend(self.unread());
        Ok((Graph { nodes, links }, warnings))
    }

    /// Warnings about attributes that nothing reads, by the names that the file gives them.
    fn unread(&self) -> Vec<String> {
        let is_read = |of: &str, attribute: &Attribute<'_>| match of {
            "node" => {
                let key = &attribute.key.as_str();
                NAMES.contains(key) || TIERS.contains(key) || PODS.contains(key)
            }
            _ => rates::is_read(&attribute.key),
        };
        let nodes = self.nodes.iter().flat_map(|node| node.attributes.all());
        let edges = self.edges.iter().flat_map(|edge| edge.attributes.all());
        let mut unread: [(&str, BTreeSet<&str>); 2] = [("node", BTreeSet::new()), ("edge", BTreeSet::new())];
        for attribute in nodes.filter(|attribute| !is_read("node", attribute)) {
            unread[0].1.insert(&attribute.name);
        }
        for attribute in edges.filter(|attribute| !is_read("edge", attribute)) {
            unread[1].1.insert(&attribute.name);
        }
        let some = unread.into_iter().filter(|(_, names)| !names.is_empty());
        let listed = |(of, names): (&str, BTreeSet<&str>)| {
            let names: Vec<&str> = names.into_iter().collect();
            format!("attributes of {of}s that are not read: {}", names.join(", "))
        };
        some.map(listed).collect()
    }
}

fn graph_node(id: &str, attributes: &Attributes<'_>) -> Result<GraphNode, Fault> {
    let name = attributes.first(&NAMES).map_or(id, |value| &value.text);
    let mut tier = None;
    for value in TIERS.iter().filter_map(|key| attributes.first(&[*key])) {
        let word = value.text.to_ascii_lowercase();
        let Some((_, said)) = TIER_WORDS.iter().find(|(known, _)| *known == word) else {
            let words: Vec<&str> = TIER_WORDS.iter().map(|(word, _)| *word).collect();
            let problem = format!("node {name}: {}: `{}` is unknown", value.key, value.text);
            return Err(Fault::new(value.at, problem, format!("known here: {}", words.join(", "))));
        };
        tier = tier.or(*said);
    }
    let pod = attributes.first(&PODS).map(|value| {
        // igraph writes every number as a float.
        let pod = value.text.parse::<f64>().ok().filter(|pod| pod.fract() == 0.0);
        pod.filter(|pod| (0.0..f64::from(u32::MAX)).contains(pod)).map(|pod| pod as u32).ok_or_else(|| {
            let problem = format!("node {name}: pod: `{}` is no number of a pod", value.text);
            Fault::new(value.at, problem, "give a whole number from 0")
        })
    });
    Ok(GraphNode { name: name.to_owned(), tier, pod: pod.transpose()? })
}
