//! Reads GraphML (graphml.graphdrawing.org/specification) as networkx, igraph and others write it.

mod attributes;
mod pairing;
mod rates;

pub use rates::{DELAY_NAMES, RATE_NAMES};

use crate::topology::LinkSettings;
use crate::{Fabric, Graph, GraphNode, Tier};
use attributes::{Attributes, Keys};
use pairing::{Edge, pair};
use roxmltree::{Document, Node};
use std::collections::HashMap;
use std::path::Path;

/// Error in a GraphML file: its position, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {problem}; {hint}", line.map(|n| format!(":{n}")).unwrap_or_default())]
pub struct GraphmlError {
    /// File, as the user named it.
    pub file: String,
    /// Line, counted from one; `None` if the fault is not in a single line.
    pub line: Option<u32>,
    /// Element and value at fault.
    pub problem: String,
    /// Values that would work.
    pub hint: String,
}

/// Fault and the byte of the text at which it was found.
struct Fault {
    at: Option<usize>,
    problem: String,
    hint: String,
}

impl Fault {
    fn new(element: Node<'_, '_>, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at: Some(element.range().start), problem: problem.into(), hint: hint.into() }
    }
}

const NAMES: [&str; 2] = ["name", "label"];
/// Names of the attribute that holds the tier. Those that can say "host" come first: FNSS (fnss.github.io) calls hosts
/// `host` in `type` and `leaf` in `layer`.
const TIERS: [&str; 4] = ["type", "role", "tier", "layer"];
const PODS: [&str; 1] = ["pod"];

/// Words that files use for tiers. The tier of a switch or router is derived from its distance to the hosts.
const TIER_WORDS: [(&str, Option<Tier>); 19] = [
    ("host", Some(Tier::Host)),
    ("server", Some(Tier::Host)),
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

/// Reads the file at `path` and builds its fabric. Links have the settings of `defaults` unless the file gives others.
///
/// # Errors
/// Fails if the file cannot be read, if [`parse`] refuses it, or if its graph is no fabric.
pub fn read(path: &Path, defaults: &LinkSettings) -> Result<Fabric, GraphmlError> {
    let file = path.display().to_string();
    let of_file =
        |problem: String, hint: String| GraphmlError { file: file.clone(), line: None, problem, hint };
    let text = std::fs::read_to_string(path).map_err(|error| {
        of_file(format!("cannot be read: {error}"), "give the path of a GraphML file in UTF-8".to_owned())
    })?;
    parse(&text, &file, defaults)?.build().map_err(|error| of_file(error.problem, error.hint))
}

/// Reads the graph that `text` describes; errors name the file `file`. These attributes are read, in any case of
/// letters:
///
/// - of nodes `name` or `label` (else the id), `type`, `role`, `tier` or `layer` (words such as `host`, `leaf`, `tor`, `agg`,
///   `core`; `switch` leaves the tier to be derived), and `pod`, a whole number;
/// - of edges [`RATE_NAMES`] in bits per second and [`DELAY_NAMES`] in seconds, or as text with a unit, `10 Gbps`,
///   `1 us`. The unit of bare numbers is the one at the end of the name, as in `rate_gbps`, or the value of the graph's
///   attribute `rate_unit`, or that of another of these names.
///
/// An undirected edge is a link with equal directions. The n-th directed edge from one node to another and the n-th
/// edge back are the two directions of a link.
///
/// # Errors
/// Refuses text that is no XML or no GraphML, nested graphs, hyperedges, values that are not understood, edges to nodes
/// that do not exist, a directed edge without one back, and attributes that look like rates or delays of links and are
/// none of these.
pub fn parse(text: &str, file: &str, defaults: &LinkSettings) -> Result<Graph, GraphmlError> {
    let document = Document::parse(text).map_err(|error| GraphmlError {
        file: file.to_owned(),
        line: Some(error.pos().row),
        problem: format!("not XML: {error}"),
        hint: "export the graph as GraphML".to_owned(),
    })?;
    graph(&document, defaults).map_err(|fault| GraphmlError {
        file: file.to_owned(),
        line: fault.at.map(|at| document.text_pos_at(at).row),
        problem: fault.problem,
        hint: fault.hint,
    })
}

fn graph(document: &Document<'_>, defaults: &LinkSettings) -> Result<Graph, Fault> {
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let problem = format!("<{}> is not <graphml>", root.tag_name().name());
        return Err(Fault::new(root, problem, "export the graph as GraphML"));
    }
    if let Some(element) = root.descendants().find(|element| element.tag_name().name() == "hyperedge") {
        return Err(Fault::new(element, "a hyperedge is no link", "write edges with a source and a target"));
    }
    let mut graphs = root.descendants().filter(|element| element.tag_name().name() == "graph");
    let Some(element) = graphs.next() else {
        return Err(Fault::new(root, "there is no <graph>", "export the graph as GraphML"));
    };
    if let Some(second) = graphs.next() {
        return Err(Fault::new(
            second,
            "a second <graph>",
            "keep one graph in a file, without graphs inside nodes",
        ));
    }
    let keys = Keys::of(root);
    let of_graph = keys.attributes("graph", element);
    rates::refuse_elsewhere("graph", &of_graph)?;
    let mut nodes = Vec::new();
    let mut numbers = HashMap::new();
    for node in children(element, "node") {
        let id = required(node, "id")?;
        if numbers.insert(id, nodes.len() as u32).is_some() {
            return Err(Fault::new(
                node,
                format!("node {id}: a second of this id"),
                "give every node its own",
            ));
        }
        let of_node = keys.attributes("node", node);
        rates::refuse_elsewhere("node", &of_node)?;
        nodes.push(graph_node(id, &of_node)?);
    }
    let directed_default = element.attribute("edgedefault") == Some("directed");
    let mut edges = Vec::new();
    for edge in children(element, "edge") {
        let end = |attribute| {
            let id = required(edge, attribute)?;
            numbers.get(id).copied().ok_or_else(|| {
                let hint = "name the id of a node of the graph";
                Fault::new(edge, format!("edge: its {attribute} {id} is no node"), hint)
            })
        };
        let (source, target) = (end("source")?, end("target")?);
        let settings = rates::settings(&keys.attributes("edge", edge), &of_graph, defaults)?;
        let directed = edge.attribute("directed").map_or(directed_default, |value| value == "true");
        edges.push(Edge { source, target, settings, directed, element: edge });
    }
    let links = pair(&edges, &nodes)?;
    Ok(Graph { nodes, links })
}

fn children<'a>(element: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    element.children().filter(move |child| child.tag_name().name() == name)
}

fn required<'a>(element: Node<'a, 'a>, attribute: &str) -> Result<&'a str, Fault> {
    element.attribute(attribute).ok_or_else(|| {
        let name = element.tag_name().name();
        Fault::new(element, format!("<{name}>: its {attribute} is missing"), "export the graph as GraphML")
    })
}

fn graph_node(id: &str, attributes: &Attributes<'_>) -> Result<GraphNode, Fault> {
    let name = attributes.first(&NAMES).map_or(id, |value| value.text);
    let mut tier = None;
    for value in TIERS.iter().filter_map(|key| attributes.first(&[*key])) {
        let word = value.text.to_ascii_lowercase();
        let Some((_, said)) = TIER_WORDS.iter().find(|(known, _)| *known == word) else {
            let words: Vec<&str> = TIER_WORDS.iter().map(|(word, _)| *word).collect();
            let problem = format!("node {name}: {}: `{}` is unknown", value.key, value.text);
            return Err(Fault::new(value.element, problem, format!("known here: {}", words.join(", "))));
        };
        tier = tier.or(*said);
    }
    let pod = attributes.first(&PODS).map(|value| {
        // igraph writes every number as a float.
        let pod = value.text.parse::<f64>().ok().filter(|pod| pod.fract() == 0.0);
        pod.filter(|pod| (0.0..f64::from(u32::MAX)).contains(pod)).map(|pod| pod as u32).ok_or_else(|| {
            let problem = format!("node {name}: pod: `{}` is no number of a pod", value.text);
            Fault::new(value.element, problem, "give a whole number from 0")
        })
    });
    Ok(GraphNode { name: name.to_owned(), tier, pod: pod.transpose()? })
}
