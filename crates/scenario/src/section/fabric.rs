//! `[fabric]`: its kind, its size, its links.

use crate::file;
use crate::file::{Files, NamedFile};
use crate::section::graph::GraphSetting;
use crate::section::switch::SwitchSetting;
use crate::section::{graph, link, switch};
use anabranch_fabric::topology::{Clos, Dumbbell, FatTree, LeafSpine, LinkSettings, Vl2};
use anabranch_fabric::{Fabric, graphml};
use anabranch_form::Origin;
use anabranch_form::unit::{Choice, Count};
use anabranch_form::{Form, FormError};

/// A fabric of some kind, with its sizes and links.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Leaves, each linked to every spine.
    LeafSpine(LeafSpine),
    /// The k-ary fat-tree.
    FatTree(FatTree),
    /// Three tiers of any sizes.
    Clos(Clos),
    /// VL2.
    Vl2(Vl2),
    /// Two switches and one link.
    Dumbbell(Dumbbell),
    /// Any nodes and links.
    Graph(GraphSetting),
    /// Any nodes and links, from a GraphML file; links are as written here where the file does not say otherwise.
    GraphMl(NamedFile, LinkSettings),
}

/// Kinds of fabric.
pub(crate) const KINDS: [&str; 7] = ["leaf-spine", "fat-tree", "clos", "vl2", "dumbbell", "graph", "graphml"];

/// Counts of nodes and links; how many nodes are too many in all is for the fabric to say.
const MANY: Count = Count { least: 1, most: 65_536 };

const HOST_LINK: &str = "Links between hosts and leaves; keys as below `link`.";
const UPLINK: &str = "Links between switches; keys as below `link`.";

impl Shape {
    /// A fabric of this kind with the defaults of every key.
    pub(crate) fn of_kind(kind: &str) -> Self {
        match kind {
            "fat-tree" => Self::FatTree(FatTree::default()),
            "clos" => Self::Clos(Clos::default()),
            "vl2" => Self::Vl2(Vl2::default()),
            "dumbbell" => Self::Dumbbell(Dumbbell::default()),
            "graph" => Self::Graph(GraphSetting::default()),
            "graphml" => Self::GraphMl(NamedFile::default(), LinkSettings::default()),
            _ => Self::LeafSpine(LeafSpine::default()),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::LeafSpine(_) => KINDS[0],
            Self::FatTree(_) => KINDS[1],
            Self::Clos(_) => KINDS[2],
            Self::Vl2(_) => KINDS[3],
            Self::Dumbbell(_) => KINDS[4],
            Self::Graph(_) => KINDS[5],
            Self::GraphMl(..) => KINDS[6],
        }
    }

    /// Nodes and ports. A file's digest is noted.
    pub(crate) fn build(&mut self, origin: &Origin, files: &Files<'_>) -> Result<Fabric, FormError> {
        let built = match self {
            Self::LeafSpine(shape) => shape.build(),
            Self::FatTree(shape) => shape.build(),
            Self::Clos(shape) => shape.build(),
            Self::Vl2(shape) => shape.build(),
            Self::Dumbbell(shape) => shape.build(),
            Self::Graph(shape) => shape.build(),
            Self::GraphMl(file, defaults) => {
                let content = file::content(file, "file", origin, files)?;
                let text = String::from_utf8_lossy(&content);
                let graph = graphml::parse(&text, &file.path, defaults);
                graph.map_err(|error| file::file_error("file", &error, origin))?.build()
            }
        };
        built.map_err(|error| origin.error(&error.problem, error.hint))
    }
}

/// The keys.
pub(crate) fn visit(form: &mut impl Form, shape: &mut Shape, setting: &mut Option<SwitchSetting>) {
    let mut kind = shape.kind();
    form.kind(
        "kind",
        Choice(&KINDS),
        &mut kind,
        "What is built: every leaf linked to every spine; the k-ary fat-tree; three tiers of any sizes; VL2; two \
         switches and one link; nodes and links as listed here, or in a GraphML file.",
    );
    if kind != shape.kind() {
        *shape = Shape::of_kind(kind);
    }
    let link = switch::visit_preset(form, setting);
    // Written behind the entries of a graph, its keys would be the last entry's.
    let listed = matches!(shape, Shape::Graph(_));
    if listed {
        switch::visit(form, setting);
    }
    match shape {
        Shape::LeafSpine(shape) => leaf_spine(form, shape, link),
        Shape::FatTree(shape) => fat_tree(form, shape, link),
        Shape::Clos(shape) => clos(form, shape, link),
        Shape::Vl2(shape) => vl2(form, shape, link),
        Shape::Dumbbell(shape) => dumbbell(form, shape, link),
        Shape::Graph(shape) => graph::visit(form, shape, link),
        Shape::GraphMl(file, defaults) => {
            file::visit(form, file, "GraphML, as networkx writes it.");
            if link != LinkSettings::default() {
                *defaults = link;
            }
            form.table("link", "Links, where the file does not say otherwise.", |form| {
                link::visit(form, defaults);
            });
        }
    }
    if !listed {
        switch::visit(form, setting);
    }
}

fn hosts_per_leaf(form: &mut impl Form, hosts: &mut u32) {
    form.key("hosts_per_leaf", MANY, hosts, "Hosts of each leaf; in a fat-tree k/2 where it is not given.");
}

fn leaf_spine(form: &mut impl Form, shape: &mut LeafSpine, default: LinkSettings) {
    form.key("leaves", MANY, &mut shape.leaves, "Leaf switches: those with hosts.");
    form.key("spines", MANY, &mut shape.spines, "Spine switches.");
    hosts_per_leaf(form, &mut shape.hosts_per_leaf);
    form.key(
        "parallel_links",
        MANY,
        &mut shape.parallel_links,
        "Links between each leaf and each spine, each a next hop of its own.",
    );
    let tiers = [("host_link", &mut shape.host_link, HOST_LINK), ("uplink", &mut shape.uplink, UPLINK)];
    link::visit_tiers(form, default, tiers);
}

fn fat_tree(form: &mut impl Form, shape: &mut FatTree, default: LinkSettings) {
    form.key(
        "k",
        Count { least: 2, most: 256 },
        &mut shape.k,
        "Ports of a switch, and number of pods; even. Each pod has k/2 leaves and k/2 aggregations.",
    );
    if shape.hosts_per_leaf == 0 {
        shape.hosts_per_leaf = shape.k / 2;
    }
    hosts_per_leaf(form, &mut shape.hosts_per_leaf);
    let tiers = [("host_link", &mut shape.host_link, HOST_LINK), ("uplink", &mut shape.uplink, UPLINK)];
    link::visit_tiers(form, default, tiers);
}

fn clos(form: &mut impl Form, shape: &mut Clos, default: LinkSettings) {
    form.key("pods", MANY, &mut shape.pods, "Pods.");
    form.key("leaves_per_pod", MANY, &mut shape.leaves_per_pod, "Leaves of each pod.");
    form.key(
        "aggregations_per_pod",
        MANY,
        &mut shape.aggregations_per_pod,
        "Aggregations of each pod, each linked to every leaf of it.",
    );
    form.key(
        "cores_per_aggregation",
        MANY,
        &mut shape.cores_per_aggregation,
        "Cores above each aggregation; the aggregations of one number in all pods share theirs.",
    );
    hosts_per_leaf(form, &mut shape.hosts_per_leaf);
    let core = "Links between aggregations and cores; keys as below `link`.";
    let tiers = [
        ("host_link", &mut shape.host_link, HOST_LINK),
        ("uplink", &mut shape.uplink, UPLINK),
        ("core_link", &mut shape.core_link, core),
    ];
    link::visit_tiers(form, default, tiers);
}

fn vl2(form: &mut impl Form, shape: &mut Vl2, default: LinkSettings) {
    form.key("leaves", MANY, &mut shape.leaves, "Leaf switches: those with hosts.");
    form.key("aggregations", MANY, &mut shape.aggregations, "Aggregation switches; even. A leaf has two.");
    form.key(
        "intermediates",
        MANY,
        &mut shape.intermediates,
        "Switches at the top, each linked to every aggregation.",
    );
    hosts_per_leaf(form, &mut shape.hosts_per_leaf);
    let tiers = [("host_link", &mut shape.host_link, HOST_LINK), ("uplink", &mut shape.uplink, UPLINK)];
    link::visit_tiers(form, default, tiers);
}

fn dumbbell(form: &mut impl Form, shape: &mut Dumbbell, default: LinkSettings) {
    form.key("hosts_per_side", MANY, &mut shape.hosts_per_side, "Hosts of each of the two switches.");
    let middle = "The link in the middle; keys as below `link`.";
    let tiers =
        [("host_link", &mut shape.host_link, HOST_LINK), ("bottleneck", &mut shape.bottleneck, middle)];
    link::visit_tiers(form, default, tiers);
}
