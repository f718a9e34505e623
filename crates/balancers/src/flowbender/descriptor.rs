//! Registry entry of FlowBender: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::Descriptor;
use crate::flowbender::pick::{FlowBender, Parameters};
use crate::load_balancer::Scheme;
use crate::spraying::SprayingParameters;
use anabranch_form::AnyKeys;

/// Registry entry of FlowBender.
pub static FLOWBENDER: Descriptor =
    Descriptor::of_hosts("flowbender", "flow", include_str!("page.md"), || Scheme::new(Parameters::DEFAULT));

impl SprayingParameters for Parameters {
    type Scheme = FlowBender;
    const ENTRY: &'static Descriptor = &FLOWBENDER;

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }
}
