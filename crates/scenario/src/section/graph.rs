//! `[[fabric.node]]` and `[[fabric.edge]]`: a fabric of any nodes and links.

use crate::section::link;
use anabranch_fabric::topology::LinkSettings;
use anabranch_fabric::{Fabric, FabricError, Graph, GraphLink, GraphNode, Tier};
use anabranch_form::Form;
use anabranch_form::unit::{Choice, Count, Text};
use std::collections::HashMap;

/// Nodes and links by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphSetting {
    /// Nodes about which there is something to say, or whose order matters.
    pub nodes: Vec<GraphNode>,
    /// Links.
    pub edges: Vec<EdgeSetting>,
}

/// A link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeSetting {
    /// One end.
    pub from: String,
    /// The other end.
    pub to: String,
    /// The link, both ways where `back` says nothing else.
    pub settings: LinkSettings,
    /// The way back.
    pub back: Option<LinkSettings>,
}

const TIERS: [(&str, Tier); 5] = [
    ("host", Tier::Host),
    ("scale-up", Tier::Server),
    ("leaf", Tier::Leaf),
    ("aggregation", Tier::Aggregation),
    ("spine", Tier::Spine),
];
const TIER_NAMES: [&str; 5] = [TIERS[0].0, TIERS[1].0, TIERS[2].0, TIERS[3].0, TIERS[4].0];

impl GraphSetting {
    /// Nodes in the order in which they are listed, then in that of their first link.
    pub(crate) fn build(&self) -> Result<Fabric, FabricError> {
        let mut graph = Graph { nodes: self.nodes.clone(), links: Vec::with_capacity(self.edges.len()) };
        let mut numbers: HashMap<String, u32> =
            self.nodes.iter().map(|node| node.name.clone()).zip(0..).collect();
        for edge in &self.edges {
            let [a, b] = [&edge.from, &edge.to].map(|name| {
                *numbers.entry(name.clone()).or_insert_with(|| {
                    graph.nodes.push(GraphNode { name: name.clone(), tier: None, pod: None });
                    graph.nodes.len() as u32 - 1
                })
            });
            graph.links.push(GraphLink { a, b, settings: edge.settings, back: edge.back });
        }
        graph.build()
    }
}

/// The keys.
pub(crate) fn visit(form: &mut impl Form, graph: &mut GraphSetting, default: LinkSettings) {
    let mut base = default;
    form.base("link", "Links, where their own entry says nothing else.", |form| link::visit(form, &mut base));
    form.tables(
        "node",
        &mut graph.nodes,
        "Nodes about which there is something to say.",
        || GraphNode { name: String::new(), tier: None, pod: None },
        visit_node,
    );
    form.tables(
        "edge",
        &mut graph.edges,
        "Links. Two entries of the same ends are parallel links.",
        || EdgeSetting { settings: base, ..EdgeSetting::default() },
        visit_edge,
    );
}

fn visit_node(form: &mut impl Form, node: &mut GraphNode) {
    form.required("name", Text { wants: "a name" }, &mut node.name, "Unique in the fabric.");
    let mut tier = node.tier.and_then(|tier| TIERS.iter().find(|row| row.1 == tier)).map(|row| row.0);
    form.optional(
        "tier",
        Choice(&TIER_NAMES),
        &mut tier,
        "How far from the hosts; derived where none is given. If no node has a tier, those of one link are hosts. A \
         `scale-up` switch joins the accelerators of a server.",
    );
    node.tier = tier.and_then(|tier| TIERS.iter().find(|row| row.0 == tier)).map(|row| row.1);
    form.optional("pod", Count { least: 0, most: u32::MAX }, &mut node.pod, "The pod it stands in.");
}

fn visit_edge(form: &mut impl Form, edge: &mut EdgeSetting) {
    form.required("from", Text { wants: "a node" }, &mut edge.from, "One end.");
    form.required("to", Text { wants: "a node" }, &mut edge.to, "The other end.");
    link::visit(form, &mut edge.settings);
    let settings = edge.settings;
    form.optional_table(
        "back",
        &mut edge.back,
        "The way from `to` to `from`, where it differs; keys as below `link`.",
        || settings,
        link::visit,
    );
}
