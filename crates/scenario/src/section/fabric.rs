//! `[fabric]`: its kind, its size, its links.

mod sizes;

use crate::file;
use crate::file::{Files, NamedFile};
use crate::section::graph::GraphSetting;
use crate::section::switch::SwitchSetting;
use crate::section::{graph, link, switch};
use anabranch_fabric::topology::{
    Clos, Dragonfly, Dumbbell, FatTree, LeafSpine, LinkSettings, MultiPlane, RailOptimised, Vl2,
};
use anabranch_fabric::{Fabric, graphml};
use anabranch_form::Origin;
use anabranch_form::unit::Choice;
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
    /// Servers of accelerators on rails.
    RailOptimised(RailOptimised),
    /// Planes that meet in network cards.
    MultiPlane(MultiPlane),
    /// Groups of routers, all joined.
    Dragonfly(Dragonfly),
    /// Any nodes and links.
    Graph(GraphSetting),
    /// Any nodes and links, from a GraphML file; links are as written here where the file does not say otherwise.
    GraphMl(NamedFile, LinkSettings),
}

/// Kinds of fabric.
pub(crate) const KINDS: [&str; 10] = [
    "leaf-spine",
    "fat-tree",
    "clos",
    "vl2",
    "dumbbell",
    "rail-optimised",
    "multi-plane",
    "dragonfly",
    "graph",
    "graphml",
];

impl Shape {
    /// A fabric of this kind with the defaults of every key.
    pub(crate) fn of_kind(kind: &str) -> Self {
        match kind {
            "fat-tree" => Self::FatTree(FatTree::default()),
            "clos" => Self::Clos(Clos::default()),
            "vl2" => Self::Vl2(Vl2::default()),
            "dumbbell" => Self::Dumbbell(Dumbbell::default()),
            "rail-optimised" => Self::RailOptimised(RailOptimised::default()),
            "multi-plane" => Self::MultiPlane(MultiPlane::default()),
            "dragonfly" => Self::Dragonfly(Dragonfly::default()),
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
            Self::RailOptimised(_) => KINDS[5],
            Self::MultiPlane(_) => KINDS[6],
            Self::Dragonfly(_) => KINDS[7],
            Self::Graph(_) => KINDS[8],
            Self::GraphMl(..) => KINDS[9],
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
            Self::RailOptimised(shape) => shape.build(),
            Self::MultiPlane(shape) => shape.build(),
            Self::Dragonfly(shape) => shape.build(),
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

/// Meaning of `file`, with the attributes that are rates and delays of links.
const GRAPHML: &str = "GraphML, as networkx writes it. Rates are the edges' `rate`, `capacity`, `bandwidth` or \
                       `LinkSpeedRaw` (the Topology Zoo's) in bits per second, delays their `delay` or `latency` in \
                       seconds; another unit stands in the value (`10 Gbps`), in the name (`rate_gbps`, `delay_us`) or \
                       in the graph's attribute `rate_unit`. Other attributes that look like a rate or a delay are an \
                       error.";

/// The keys.
pub(crate) fn visit(form: &mut impl Form, shape: &mut Shape, setting: &mut Option<SwitchSetting>) {
    let mut kind = shape.kind();
    form.kind(
        "kind",
        Choice(&KINDS),
        &mut kind,
        "What is built: every leaf linked to every spine; the k-ary fat-tree; three tiers of any sizes; VL2; two \
         switches and one link; servers of accelerators, each with a leaf (rail) of its own; planes that meet in the \
         hosts' network cards; groups of routers, all joined; nodes and links as listed here, or in a GraphML file.",
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
        Shape::LeafSpine(shape) => sizes::leaf_spine(form, shape, link),
        Shape::FatTree(shape) => sizes::fat_tree(form, shape, link),
        Shape::Clos(shape) => sizes::clos(form, shape, link),
        Shape::Vl2(shape) => sizes::vl2(form, shape, link),
        Shape::Dumbbell(shape) => sizes::dumbbell(form, shape, link),
        Shape::RailOptimised(shape) => sizes::rail_optimised(form, shape, link),
        Shape::MultiPlane(shape) => sizes::multi_plane(form, shape, link),
        Shape::Dragonfly(shape) => sizes::dragonfly(form, shape, link),
        Shape::Graph(shape) => graph::visit(form, shape, link),
        Shape::GraphMl(file, defaults) => {
            file::visit(form, file, GRAPHML);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_names_every_attribute_that_is_read() {
        for name in graphml::RATE_NAMES.iter().chain(&graphml::DELAY_NAMES) {
            assert!(GRAPHML.contains(&format!("`{name}`")), "{name}");
        }
    }
}
