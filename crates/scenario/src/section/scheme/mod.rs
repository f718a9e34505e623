//! `[routing.scheme]`: the parameters of a scheme that brings its own, one file per scheme.

mod conga;
mod conweave;
mod hula;

use super::routing::Weights;
use crate::form::Form;
use anabranch_plan::Scheme;

/// A scheme that brings its own.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    /// Where the weights of the switches' tables come from, if nothing is said.
    pub(crate) weights: Weights,
    /// With the defaults of every parameter.
    pub(crate) scheme: fn() -> Scheme,
}

/// All of them, in the order in which they are listed.
pub(crate) static SCHEMES: [Named; 4] = [
    Named { name: "ideal", weights: Weights::Capacity, scheme: || Scheme::Ideal },
    Named { name: "conga", weights: Weights::Equal, scheme: || Scheme::Conga(Default::default()) },
    Named { name: "hula", weights: Weights::Equal, scheme: || Scheme::Hula(Default::default()) },
    Named { name: "conweave", weights: Weights::Equal, scheme: || Scheme::ConWeave(Default::default()) },
];

/// The name of a scheme that brings its own.
pub(crate) fn name(scheme: &Scheme) -> Option<&'static str> {
    match scheme {
        Scheme::Table => None,
        Scheme::Ideal => Some("ideal"),
        Scheme::Conga(_) => Some("conga"),
        Scheme::Hula(_) => Some("hula"),
        Scheme::ConWeave(_) => Some("conweave"),
    }
}

/// The parameters.
pub(crate) fn visit(form: &mut impl Form, scheme: &mut Scheme) {
    match scheme {
        Scheme::Table | Scheme::Ideal => {}
        Scheme::Conga(parameters) => conga::visit(form, parameters),
        Scheme::Hula(parameters) => hula::visit(form, parameters),
        Scheme::ConWeave(parameters) => conweave::visit(form, parameters),
    }
}
