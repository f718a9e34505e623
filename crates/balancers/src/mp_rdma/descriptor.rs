//! Registry entry of MP-RDMA: what it is called, what it needs, how it is built.

use super::keys;
use crate::descriptor::Descriptor;
use crate::load_balancer::Scheme;
use crate::mp_rdma::pick::{MpRdma, Parameters};
use crate::spraying::SprayingParameters;
use anabranch_form::AnyKeys;

/// Registry entry of MP-RDMA.
pub static MP_RDMA: Descriptor =
    Descriptor::of_hosts("mp-rdma", "packet", include_str!("page.md"), || Scheme::new(Parameters::DEFAULT));

impl SprayingParameters for Parameters {
    type Scheme = MpRdma;
    const ENTRY: &'static Descriptor = &MP_RDMA;

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }
}
