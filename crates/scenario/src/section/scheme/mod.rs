//! `[routing.scheme]`: the parameters of a scheme that brings its own, one file per scheme.

mod clove;
mod flowbender;
mod hermes;
mod millionths;
mod plb;
mod presto;
mod reps;
mod uec;
mod vms;

use super::routing::Weights;
use crate::form::Form;
use anabranch_plan::{Scheme, presto::Settings as Presto};
use anabranch_split::scheme as split;
use anabranch_split::scheme::clove::Selection as Clove;
use anabranch_split::scheme::vms::Selection as Vms;

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
pub(crate) static SCHEMES: [Named; 17] = [
    Named {
        name: "ideal",
        granularity: "flow",
        decider: Decider::Beforehand,
        weights: Weights::Capacity,
        scheme: || Scheme::Ideal,
    },
    at_hosts("flowbender", "flow", || Scheme::FlowBender(split::flowbender::Parameters::DEFAULT)),
    at_hosts("plb", "flow", || Scheme::Plb(split::plb::Parameters::DEFAULT)),
    at_hosts("presto", "flowcell", || Scheme::Presto(Presto::DEFAULT)),
    at_hosts("weighted-presto", "flowcell", || Scheme::Presto(Presto { weighted: true, ..Presto::DEFAULT })),
    at_hosts("clove-ecn", "flowlet", || Scheme::Clove(clove::of(Clove::Turns))),
    at_hosts("clove-int", "flowlet", || Scheme::Clove(clove::of(Clove::LeastUtilised))),
    at_hosts("clove+valo", "flowlet", || Scheme::Clove(clove::of(Clove::Score))),
    at_hosts("vms", "packet", || Scheme::Vms(vms::of(Vms::HeavierOfTwo))),
    at_hosts("vms-window", "packet", || Scheme::Vms(vms::of(Vms::Window))),
    at_hosts("vms+valo", "flowcell", || Scheme::Vms(vms::of(Vms::ScoreOfUnit))),
    at_hosts("hermes", "flow", || Scheme::Hermes(split::hermes::Parameters::default())),
    at_hosts("uec-oblivious", "packet", || Scheme::UecOblivious(split::uec::Parameters::DEFAULT)),
    at_hosts("uec-bitmap", "packet", || Scheme::UecBitmap(split::uec::Parameters::DEFAULT)),
    at_hosts("uec-mixed", "packet", || Scheme::UecMixed(split::uec::Parameters::DEFAULT)),
    at_hosts("reps", "packet", || Scheme::Reps(split::reps::Parameters::DEFAULT)),
    at_hosts("reps-legacy", "packet", || Scheme::RepsLegacy(split::uec::Parameters::DEFAULT)),
];

/// One that hosts run, over switches that use all next hops alike.
const fn at_hosts(name: &'static str, granularity: &'static str, scheme: fn() -> Scheme) -> Named {
    Named { name, granularity, decider: Decider::Hosts, weights: Weights::Equal, scheme }
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
    }
}

/// The parameters.
pub(crate) fn visit(form: &mut impl Form, scheme: &mut Scheme) {
    match scheme {
        Scheme::Table | Scheme::Ideal => {}
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
    }
}
