//! Registry entry of REPS: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::Descriptor;
use crate::load_balancer::Scheme;
use crate::reps::pick::{Parameters, Reps};
use crate::spraying::SprayingParameters;
use anabranch_form::AnyKeys;

/// Registry entry of REPS.
pub static REPS: Descriptor =
    Descriptor::of_hosts("reps", "packet", include_str!("page.md"), || Scheme::new(Parameters::DEFAULT));

impl SprayingParameters for Parameters {
    type Scheme = Reps;
    const ENTRY: &'static Descriptor = &REPS;

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }
}
