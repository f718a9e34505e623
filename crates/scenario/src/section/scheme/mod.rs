//! `[routing.scheme]`: the parameters of a scheme that brings its own, one file per scheme.

use crate::form::Form;
use anabranch_plan::Scheme;

/// Names of the schemes that bring their own, each with its defaults.
pub(crate) const SCHEMES: [(&str, fn() -> Scheme); 1] = [("ideal", || Scheme::Ideal)];

/// The scheme of this name with the defaults of every parameter; tables alone for any other name.
pub(crate) fn of_name(name: &str) -> Scheme {
    SCHEMES.iter().find(|(known, _)| *known == name).map_or(Scheme::Table, |(_, make)| make())
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
