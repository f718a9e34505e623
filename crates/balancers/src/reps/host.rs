//! REPS at the sending host.

use crate::hosts::entropy::Spraying;
use crate::reps::pick::{self as reps, Reps};

impl Spraying for Reps {
    fn begin(_: &reps::Parameters) -> reps::State {
        reps::State::default()
    }
}
