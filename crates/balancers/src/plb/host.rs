//! PLB at the sending host.

use crate::hosts::entropy::Spraying;
use crate::plb::pick::{self as plb, Plb};

impl Spraying for Plb {
    fn begin(_: &plb::Parameters) -> plb::State {
        plb::State::default()
    }
}
