//! `[routing.scheme]`: the parameters of a scheme that brings its own, one file per scheme.

mod flowbender;
mod plb;
mod presto;
mod reps;
mod uec;

use super::routing::Weights;
use crate::form::Form;
use anabranch_plan::{Scheme, presto::Settings as Presto};
use anabranch_split::scheme as split;

/// A scheme that brings its own.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    /// Where the weights of the switches' tables come from, if nothing is said.
    pub(crate) weights: Weights,
    /// With the defaults of every parameter.
    pub(crate) scheme: fn() -> Scheme,
}

/// All of them, in the order in which they are listed.
pub(crate) static SCHEMES: [Named; 10] = [
    Named { name: "ideal", weights: Weights::Capacity, scheme: || Scheme::Ideal },
    equal("flowbender", || Scheme::FlowBender(split::flowbender::Parameters::DEFAULT)),
    equal("plb", || Scheme::Plb(split::plb::Parameters::DEFAULT)),
    equal("uec-oblivious", || Scheme::UecOblivious(split::uec::Parameters::DEFAULT)),
    equal("uec-bitmap", || Scheme::UecBitmap(split::uec::Parameters::DEFAULT)),
    equal("uec-mixed", || Scheme::UecMixed(split::uec::Parameters::DEFAULT)),
    equal("reps", || Scheme::Reps(split::reps::Parameters::DEFAULT)),
    equal("reps-legacy", || Scheme::RepsLegacy(split::uec::Parameters::DEFAULT)),
    equal("presto", || Scheme::Presto(Presto::DEFAULT)),
    equal("weighted-presto", || Scheme::Presto(Presto { weighted: true, ..Presto::DEFAULT })),
];

/// One under which switches use all next hops alike.
const fn equal(name: &'static str, scheme: fn() -> Scheme) -> Named {
    Named { name, weights: Weights::Equal, scheme }
}

/// The name of a scheme that brings its own.
pub(crate) fn name(scheme: &Scheme) -> Option<&'static str> {
    match scheme {
        Scheme::Table => None,
        Scheme::Ideal => Some("ideal"),
        Scheme::FlowBender(_) => Some("flowbender"),
        Scheme::Plb(_) => Some("plb"),
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
        Scheme::UecOblivious(parameters)
        | Scheme::UecBitmap(parameters)
        | Scheme::UecMixed(parameters)
        | Scheme::RepsLegacy(parameters) => uec::visit(form, parameters),
        Scheme::Reps(parameters) => reps::visit(form, parameters),
        Scheme::Presto(settings) => presto::visit(form, settings),
    }
}
