//! `[routing.scheme]`: the parameters of a scheme that brings its own, one file per scheme.

mod conga;
mod conweave;
mod hula;

use super::routing::Weights;
use crate::form::Form;
use anabranch_plan::Scheme;

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
pub(crate) static SCHEMES: [Named; 4] = [
    Named {
        name: "ideal",
        granularity: "flow",
        decider: Decider::Beforehand,
        weights: Weights::Capacity,
        scheme: || Scheme::Ideal,
    },
    Named {
        name: "conga",
        granularity: "flowlet",
        decider: Decider::Leaves,
        weights: Weights::Equal,
        scheme: || Scheme::Conga(Default::default()),
    },
    Named {
        name: "hula",
        granularity: "flowlet",
        decider: Decider::Switches,
        weights: Weights::Equal,
        scheme: || Scheme::Hula(Default::default()),
    },
    Named {
        name: "conweave",
        granularity: "flow",
        decider: Decider::Leaves,
        weights: Weights::Equal,
        scheme: || Scheme::ConWeave(Default::default()),
    },
];

/// The scheme of this name, if it brings its own.
pub(crate) fn of(name: &str) -> Option<&'static Named> {
    SCHEMES.iter().find(|named| named.name == name)
}

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
