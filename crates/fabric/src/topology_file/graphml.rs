//! Reads GraphML (graphml.graphdrawing.org/specification) as networkx, igraph and others write it.

use super::attribute_graph::{AttributeEdge, AttributeGraph, AttributeNode, Attributes};
use super::{Fault, TopologyFile, TopologyFileError};
use crate::topology::LinkSettings;
use roxmltree::{Document, Node};
use std::borrow::Cow;

/// What to do about a file that is no GraphML.
const HINT: &str = "export the graph as GraphML; topologies of ns-3 are kind = \"ns3\", those of htsim kind = \"htsim\", and \
                    `anabranch import FILE` reads these and GML, DOT, JSON and containerlab";

/// Attribute that the file declares.
struct Key<'a> {
    id: &'a str,
    /// Kind of element that has it: `node`, `edge`, `graph` or `all`.
    domain: &'a str,
    name: &'a str,
    default: Option<Node<'a, 'a>>,
}

/// Reads the graph that `text` describes; errors name the file `file`. These attributes are read, in any case of
/// letters:
///
/// - of nodes `name` or `label` (else the id), `type`, `role`, `tier` or `layer` (words such as `host`, `leaf`, `tor`, `agg`,
///   `core`; `switch` leaves the tier to be derived), and `pod`, a whole number;
/// - of edges [`super::RATE_NAMES`] in bits per second and [`super::DELAY_NAMES`] in seconds, or as text with a unit, `10
///   Gbps`, `1 us`. The unit of bare numbers is the one at the end of the name, as in `rate_gbps`, or the value of the
///   graph's attribute `rate_unit`, or that of another of these names.
///
/// An undirected edge is a link with equal directions. The n-th directed edge from one node to another and the n-th
/// edge back are the two directions of a link.
///
/// # Errors
/// Refuses text that is no XML or no GraphML, nested graphs, hyperedges, values that are not understood, edges to nodes
/// that do not exist, a directed edge without one back, and attributes that look like rates or delays of links and are
/// none of these.
pub fn parse(text: &str, file: &str, defaults: &LinkSettings) -> Result<TopologyFile, TopologyFileError> {
    let document = Document::parse(text).map_err(|error| TopologyFileError {
        file: file.to_owned(),
        line: Some(error.pos().row),
        problem: format!("not XML: {error}"),
        hint: HINT.to_owned(),
    })?;
    let read = attribute_graph(&document).and_then(|graph| graph.understand(defaults));
    let (graph, warnings) = read.map_err(|fault| TopologyFileError {
        file: file.to_owned(),
        line: fault.at.map(|at| document.text_pos_at(at).row),
        problem: fault.problem,
        hint: fault.hint,
    })?;
    Ok(TopologyFile { graph, losses: Vec::new(), warnings })
}

fn attribute_graph<'a>(document: &'a Document<'a>) -> Result<AttributeGraph<'a>, Fault> {
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        return Err(fault(root, format!("<{}> is not <graphml>", root.tag_name().name()), HINT));
    }
    if let Some(element) = root.descendants().find(|element| element.tag_name().name() == "hyperedge") {
        return Err(fault(element, "a hyperedge is no link", "write edges with a source and a target"));
    }
    let mut graphs = root.descendants().filter(|element| element.tag_name().name() == "graph");
    let Some(element) = graphs.next() else {
        return Err(fault(root, "there is no <graph>", HINT));
    };
    if let Some(second) = graphs.next() {
        return Err(fault(
            second,
            "a second <graph>",
            "keep one graph in a file, without graphs inside nodes",
        ));
    }
    let keys = keys(root);
    let mut graph =
        AttributeGraph { attributes: attributes(&keys, "graph", element), ..AttributeGraph::default() };
    for node in children(element, "node") {
        graph.nodes.push(AttributeNode {
            id: Cow::Borrowed(required(node, "id")?),
            attributes: attributes(&keys, "node", node),
            at: node.range().start,
        });
    }
    let directed_default = element.attribute("edgedefault") == Some("directed");
    for edge in children(element, "edge") {
        graph.edges.push(AttributeEdge {
            source: Cow::Borrowed(required(edge, "source")?),
            target: Cow::Borrowed(required(edge, "target")?),
            directed: edge.attribute("directed").map_or(directed_default, |value| value == "true"),
            attributes: attributes(&keys, "edge", edge),
            at: edge.range().start,
        });
    }
    Ok(graph)
}

fn keys<'a>(root: Node<'a, 'a>) -> Vec<Key<'a>> {
    let key = |key: Node<'a, 'a>| {
        let id = key.attribute("id")?;
        Some(Key {
            id,
            domain: key.attribute("for").unwrap_or("all"),
            name: key.attribute("attr.name").unwrap_or(id),
            default: children(key, "default").next(),
        })
    };
    children(root, "key").filter_map(key).collect()
}

/// Collects the values of an element of this domain; attributes it does not give have their declared defaults.
fn attributes<'a>(keys: &[Key<'a>], domain: &str, element: Node<'a, 'a>) -> Attributes<'a> {
    let keys = keys.iter().filter(|key| key.domain == domain || key.domain == "all");
    Attributes::of(keys.filter_map(|key| {
        let given = children(element, "data").find(|data| data.attribute("key") == Some(key.id));
        let element = given.or(key.default)?;
        let text = element.text().map(str::trim)?;
        Some((Cow::Borrowed(key.name), Cow::Borrowed(text), element.range().start))
    }))
}

fn children<'a>(element: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    element.children().filter(move |child| child.tag_name().name() == name)
}

fn required<'a>(element: Node<'a, 'a>, attribute: &str) -> Result<&'a str, Fault> {
    element.attribute(attribute).ok_or_else(|| {
        let name = element.tag_name().name();
        fault(element, format!("<{name}>: its {attribute} is missing"), "export the graph as GraphML")
    })
}

fn fault(element: Node<'_, '_>, problem: impl Into<String>, hint: &str) -> Fault {
    Fault::new(element.range().start, problem, hint)
}
