//! MP-RDMA at the sending host.

use crate::hosts::entropy::Spraying;
use crate::mp_rdma::pick::{MpRdma, Parameters, State};

impl Spraying for MpRdma {
    fn begin(_: &Parameters) -> State {
        State::default()
    }
}
