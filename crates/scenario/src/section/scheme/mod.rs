//! `[routing.scheme]`: the parameters of a scheme that brings its own, one file per scheme.

mod clove;
mod conga;
mod conweave;
mod flowbender;
mod hermes;
mod hula;
mod luopan;
mod millionths;
mod period;
mod plb;
mod presto;
mod reps;
mod tdlb;
mod uec;
mod vms;

use super::routing::Weights;
use crate::form::Form;
use anabranch_plan::{Dbb, Saps, Scheme, Wino, presto::Settings as Presto};
use anabranch_split::scheme as split;
use anabranch_split::scheme::clove::Selection as Clove;
use anabranch_split::scheme::vms::Selection as Vms;
mod dbb;
mod saps;
mod wino;
mod word;

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// Every switch that has a choice.
    Switches,
    /// The leaf of the sender, for the whole path.
    Leaves,
    /// The sender's host.
    Hosts,
    /// Nobody while it runs: a plan made beforehand.
    Beforehand,
}

impl Decider {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switches => "switches",
            Self::Leaves => "leaves",
            Self::Hosts => "hosts",
            Self::Beforehand => "beforehand",
        }
    }
}

/// A scheme that brings its own.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    /// What it keeps on one path.
    pub(crate) granularity: &'static str,
    pub(crate) decider: Decider,
    /// Where the weights of the switches' tables come from, if nothing is said.
    pub(crate) weights: Weights,
    /// With the defaults of every parameter.
    pub(crate) scheme: fn() -> Scheme,
}

/// All of them, in the order in which they are listed.
pub(crate) const SCHEMES: &[Named] = &[
    Named {
        name: "ideal",
        granularity: "flow",
        decider: Decider::Beforehand,
        weights: Weights::Capacity,
        scheme: || Scheme::Ideal,
    },
    own("conga", "flowlet", Decider::Leaves, || Scheme::Conga(Default::default())),
    own("dbb", "packet", Decider::Switches, || Scheme::Dbb(Dbb::default())),
    own("saps", "packet", Decider::Hosts, || Scheme::Saps(Saps::default())),
    own("wino", "packet", Decider::Hosts, || Scheme::Wino(Wino::default())),
    own("luopan", "flowcell", Decider::Leaves, || Scheme::Luopan(Default::default())),
    own("omniscient", "flowcell", Decider::Leaves, || Scheme::Omniscient(Default::default())),
    own("tdlb", "flowlet", Decider::Leaves, || Scheme::Tdlb(Default::default())),
    own("hula", "flowlet", Decider::Switches, || Scheme::Hula(Default::default())),
    own("conweave", "flow", Decider::Leaves, || Scheme::ConWeave(Default::default())),
    own("flowbender", "flow", Decider::Hosts, || Scheme::FlowBender(split::flowbender::Parameters::DEFAULT)),
    own("plb", "flow", Decider::Hosts, || Scheme::Plb(split::plb::Parameters::DEFAULT)),
    own("presto", "flowcell", Decider::Hosts, || Scheme::Presto(Presto::DEFAULT)),
    own("weighted-presto", "flowcell", Decider::Hosts, || {
        Scheme::Presto(Presto { weighted: true, ..Presto::DEFAULT })
    }),
    own("clove-ecn", "flowlet", Decider::Hosts, || Scheme::Clove(clove::of(Clove::Turns))),
    own("clove-int", "flowlet", Decider::Hosts, || Scheme::Clove(clove::of(Clove::LeastUtilised))),
    own("clove+valo", "flowlet", Decider::Hosts, || Scheme::Clove(clove::of(Clove::Score))),
    own("vms", "packet", Decider::Hosts, || Scheme::Vms(vms::of(Vms::HeavierOfTwo))),
    own("vms-window", "packet", Decider::Hosts, || Scheme::Vms(vms::of(Vms::Window))),
    own("vms+valo", "flowcell", Decider::Hosts, || Scheme::Vms(vms::of(Vms::ScoreOfUnit))),
    own("hermes", "flow", Decider::Hosts, || Scheme::Hermes(Default::default())),
    own("uec-oblivious", "packet", Decider::Hosts, || Scheme::UecOblivious(split::uec::Parameters::DEFAULT)),
    own("uec-bitmap", "packet", Decider::Hosts, || Scheme::UecBitmap(split::uec::Parameters::DEFAULT)),
    own("uec-mixed", "packet", Decider::Hosts, || Scheme::UecMixed(split::uec::Parameters::DEFAULT)),
    own("reps", "packet", Decider::Hosts, || Scheme::Reps(split::reps::Parameters::DEFAULT)),
    own("reps-legacy", "packet", Decider::Hosts, || Scheme::RepsLegacy(split::uec::Parameters::DEFAULT)),
];

/// One over switches that use all next hops alike where it leaves them a choice.
const fn own(
    name: &'static str,
    granularity: &'static str,
    decider: Decider,
    scheme: fn() -> Scheme,
) -> Named {
    Named { name, granularity, decider, weights: Weights::Equal, scheme }
}

/// The scheme of this name, if it brings its own.
pub(crate) fn of(name: &str) -> Option<&'static Named> {
    SCHEMES.iter().find(|named| named.name == name)
}

/// The name of a scheme that brings its own.
pub(crate) fn name(scheme: &Scheme) -> Option<&'static str> {
    match scheme {
        Scheme::Table => None,
        Scheme::Ideal => Some("ideal"),
        Scheme::FlowBender(_) => Some("flowbender"),
        Scheme::Plb(_) => Some("plb"),
        Scheme::Clove(parameters) => Some(match parameters.selection {
            Clove::Turns | Clove::Random => "clove-ecn",
            Clove::LeastUtilised => "clove-int",
            Clove::Score => "clove+valo",
        }),
        Scheme::Vms(parameters) => Some(match parameters.selection {
            Vms::HeavierOfTwo => "vms",
            Vms::Window => "vms-window",
            Vms::ScoreOfUnit | Vms::ScoreOfFlow => "vms+valo",
        }),
        Scheme::Hermes(_) => Some("hermes"),
        Scheme::UecOblivious(_) => Some("uec-oblivious"),
        Scheme::UecBitmap(_) => Some("uec-bitmap"),
        Scheme::UecMixed(_) => Some("uec-mixed"),
        Scheme::Reps(_) => Some("reps"),
        Scheme::RepsLegacy(_) => Some("reps-legacy"),
        Scheme::Presto(Presto { weighted: false, .. }) => Some("presto"),
        Scheme::Presto(Presto { weighted: true, .. }) => Some("weighted-presto"),
        Scheme::Conga(_) => Some("conga"),
        Scheme::Luopan(_) => Some("luopan"),
        Scheme::Omniscient(_) => Some("omniscient"),
        Scheme::Tdlb(_) => Some("tdlb"),
        Scheme::Hula(_) => Some("hula"),
        Scheme::ConWeave(_) => Some("conweave"),
        Scheme::Dbb(_) => Some("dbb"),
        Scheme::Saps(_) => Some("saps"),
        Scheme::Wino(_) => Some("wino"),
    }
}

/// The parameters.
pub(crate) fn visit(form: &mut impl Form, scheme: &mut Scheme) {
    match scheme {
        Scheme::Table | Scheme::Ideal => {}
        Scheme::Luopan(luopan) => luopan::visit(form, luopan),
        Scheme::Omniscient(cells) => luopan::visit_cells(form, cells),
        Scheme::Tdlb(tdlb) => tdlb::visit(form, tdlb),
        Scheme::FlowBender(parameters) => flowbender::visit(form, parameters),
        Scheme::Plb(parameters) => plb::visit(form, parameters),
        Scheme::Clove(parameters) => clove::visit(form, parameters),
        Scheme::Vms(parameters) => vms::visit(form, parameters),
        Scheme::Hermes(parameters) => hermes::visit(form, parameters),
        Scheme::UecOblivious(parameters)
        | Scheme::UecBitmap(parameters)
        | Scheme::UecMixed(parameters)
        | Scheme::RepsLegacy(parameters) => uec::visit(form, parameters),
        Scheme::Reps(parameters) => reps::visit(form, parameters),
        Scheme::Presto(settings) => presto::visit(form, settings),
        Scheme::Conga(parameters) => conga::visit(form, parameters),
        Scheme::Hula(parameters) => hula::visit(form, parameters),
        Scheme::ConWeave(parameters) => conweave::visit(form, parameters),
        Scheme::Dbb(scheme) => dbb::visit(form, scheme),
        Scheme::Saps(scheme) => saps::visit(form, scheme),
        Scheme::Wino(scheme) => wino::visit(form, scheme),
    }
}
