//! `[routing.scheme]`: the parameters of a scheme that brings its own, one file per scheme.

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
pub(crate) static SCHEMES: [Named; 1] = [Named {
    name: "ideal",
    granularity: "flow",
    decider: Decider::Beforehand,
    weights: Weights::Capacity,
    scheme: || Scheme::Ideal,
}];

/// The scheme of this name, if it brings its own.
pub(crate) fn of(name: &str) -> Option<&'static Named> {
    SCHEMES.iter().find(|named| named.name == name)
}

/// The name of a scheme that brings its own.
pub(crate) fn name(scheme: &Scheme) -> Option<&'static str> {
    match scheme {
        Scheme::Table => None,
        Scheme::Ideal => Some("ideal"),
    }
}

/// The parameters.
pub(crate) fn visit(_form: &mut impl Form, scheme: &mut Scheme) {
    match scheme {
        Scheme::Table | Scheme::Ideal => {}
    }
}
