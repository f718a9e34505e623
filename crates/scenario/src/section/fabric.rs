//! `[fabric]`: its kind, its size, its links.

mod sizes;

use crate::file;
use crate::file::{Files, NamedFile};
use crate::section::graph::GraphSetting;
use crate::section::kinds::{Kind, defaults, names};
use crate::section::switch::SwitchSetting;
use crate::section::{graph, link, switch};
use anabranch_fabric::topology::{
    Clos, Dragonfly, Dumbbell, FatTree, LeafSpine, LinkSettings, MultiPlane, RailOptimised, SlimFly, Vl2,
};
use anabranch_fabric::topology_file::Format;
use anabranch_fabric::{Change, Fabric, What};
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
    /// Routers of diameter 2.
    SlimFly(SlimFly),
    /// Any nodes and links.
    Graph(GraphSetting),
    /// Nodes and links from a file of another program; links are as written here where the file does not say otherwise.
    File(Format, NamedFile, LinkSettings),
}

/// Fabric as built, with what goes with it.
pub(crate) struct Built {
    pub(crate) fabric: Fabric,
    /// Links that lose frames from the start.
    pub(crate) losses: Vec<Change>,
    /// What its file says and nothing reads.
    pub(crate) warnings: Vec<String>,
}

/// Kinds of fabric.
const DEFAULTS: [Kind<Shape>; 13] = [
    ("leaf-spine", || Shape::LeafSpine(LeafSpine::default())),
    ("fat-tree", || Shape::FatTree(FatTree::default())),
    ("clos", || Shape::Clos(Clos::default())),
    ("vl2", || Shape::Vl2(Vl2::default())),
    ("dumbbell", || Shape::Dumbbell(Dumbbell::default())),
    ("rail-optimised", || Shape::RailOptimised(RailOptimised::default())),
    ("multi-plane", || Shape::MultiPlane(MultiPlane::default())),
    ("dragonfly", || Shape::Dragonfly(Dragonfly::default())),
    ("slim-fly", || Shape::SlimFly(SlimFly::default())),
    ("graph", || Shape::Graph(GraphSetting::default())),
    ("graphml", || Shape::of_file(Format::GraphMl)),
    ("ns3", || Shape::of_file(Format::Ns3)),
    ("htsim", || Shape::of_file(Format::Htsim)),
];

/// Names of the kinds.
pub(crate) const KINDS: [&str; DEFAULTS.len()] = names(&DEFAULTS);

impl Shape {
    /// A fabric of this kind with the defaults of every key.
    pub(crate) fn of_kind(kind: &str) -> Self {
        defaults(&DEFAULTS, kind)
    }

    fn of_file(format: Format) -> Self {
        Self::File(format, NamedFile::default(), LinkSettings::default())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::LeafSpine(_) => "leaf-spine",
            Self::FatTree(_) => "fat-tree",
            Self::Clos(_) => "clos",
            Self::Vl2(_) => "vl2",
            Self::Dumbbell(_) => "dumbbell",
            Self::RailOptimised(_) => "rail-optimised",
            Self::MultiPlane(_) => "multi-plane",
            Self::Dragonfly(_) => "dragonfly",
            Self::SlimFly(_) => "slim-fly",
            Self::Graph(_) => "graph",
            Self::File(Format::GraphMl, ..) => "graphml",
            Self::File(Format::Ns3, ..) => "ns3",
            Self::File(Format::Htsim, ..) => "htsim",
        }
    }

    /// Nodes and ports. A file's digest is noted.
    pub(crate) fn build(&mut self, origin: &Origin, files: &Files<'_>) -> Result<Built, FormError> {
        let (mut losses, mut warnings) = (Vec::new(), Vec::new());
        let built = match self {
            Self::LeafSpine(shape) => shape.build(),
            Self::FatTree(shape) => shape.build(),
            Self::Clos(shape) => shape.build(),
            Self::Vl2(shape) => shape.build(),
            Self::Dumbbell(shape) => shape.build(),
            Self::RailOptimised(shape) => shape.build(),
            Self::MultiPlane(shape) => shape.build(),
            Self::Dragonfly(shape) => shape.build(),
            Self::SlimFly(shape) => shape.build(),
            Self::Graph(shape) => shape.build(),
            Self::File(format, file, defaults) => {
                let content = file::content(file, "file", origin, files)?;
                let text = String::from_utf8_lossy(&content);
                let read = format.parse(&text, &file.path, defaults);
                let read = read.map_err(|error| file::file_error("file", &error, origin))?;
                // The two ports of link n are 2n and 2n + 1.
                let both = |(link, loss)| [0, 1].map(|side| What::PortLoss(2 * link + side, loss));
                losses.extend(read.losses.into_iter().flat_map(both).map(|what| Change { at_ps: 0, what }));
                warnings.extend(read.warnings.into_iter().map(|warning| format!("{}: {warning}", file.path)));
                read.graph.build()
            }
        };
        let fabric = built.map_err(|error| origin.error(error.key, &error.problem, error.hint))?;
        Ok(Built { fabric, losses, warnings })
    }
}

/// Meaning of `file`, with the attributes that are rates and delays of links.
const FILE: &str = "Topology file. Of ns-3's RDMA simulators `topology.txt`, with SimAI's servers; of htsim `.topo`; or \
                       GraphML, as networkx writes it. There a node's name is its `name` or `label`, else its id, its tier \
                       its `type`, `role`, `tier` or `layer`, its pod its `pod`. Rates are the edges' `rate`, `capacity`, `bandwidth` or \
                       `LinkSpeedRaw` (the Topology Zoo's) in bits per second, delays their `delay` or `latency` in \
                       seconds; another unit stands in the value (`10 Gbps`), in the name (`rate_gbps`, `delay_us`) or \
                       in the graph's attribute `rate_unit`. Other attributes that look like a rate or a delay are an \
                       error, all others a warning. `anabranch import` brings GML, DOT, JSON and containerlab.";

/// The keys.
pub(crate) fn visit(form: &mut impl Form, shape: &mut Shape, setting: &mut Option<SwitchSetting>) {
    let mut kind = shape.kind();
    form.kind(
        "kind",
        Choice(&KINDS),
        &mut kind,
        "What is built: every leaf linked to every spine; the k-ary fat-tree; three tiers of any sizes; VL2; two \
         switches and one link; servers of accelerators, each with a leaf (rail) of its own; planes that meet in the \
         hosts' network cards; groups of routers, all joined; Slim Fly's routers, two links apart; nodes and links as listed here, or in a file: GraphML, of ns-3's RDMA simulators (HPCC, \
         ConWeave, ASTRA-sim, SimAI), or of htsim.",
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
        Shape::SlimFly(shape) => sizes::slim_fly(form, shape, link),
        Shape::Graph(shape) => graph::visit(form, shape, link),
        Shape::File(_, file, defaults) => {
            file::visit(form, file, FILE);
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
        use anabranch_fabric::topology_file::{DELAY_NAMES, RATE_NAMES};
        for name in RATE_NAMES.iter().chain(&DELAY_NAMES) {
            assert!(FILE.contains(&format!("`{name}`")), "{name}");
        }
    }
}
