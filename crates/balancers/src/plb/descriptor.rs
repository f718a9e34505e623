//! Registry entry of PLB: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::Descriptor;
use crate::load_balancer::Scheme;
use crate::plb::pick::{Parameters, Plb};
use crate::spraying::SprayingParameters;
use anabranch_form::AnyKeys;

/// Registry entry of PLB.
pub static PLB: Descriptor =
    Descriptor::of_hosts("plb", "flow", include_str!("page.md"), || Scheme::new(Parameters::DEFAULT));

impl SprayingParameters for Parameters {
    type Scheme = Plb;
    const ENTRY: &'static Descriptor = &PLB;

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }
}
