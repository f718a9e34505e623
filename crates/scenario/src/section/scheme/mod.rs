//! `[routing.scheme]`: the parameters of a scheme that brings its own, one file per scheme.

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
pub(crate) static SCHEMES: [Named; 1] =
    [Named { name: "ideal", weights: Weights::Capacity, scheme: || Scheme::Ideal }];

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
