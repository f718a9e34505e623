//! UEC spraying at the sending host.

use crate::hosts::entropy::Spraying;
use crate::uec::pick::{self as uec, Bitmap, Oblivious};
use crate::uec::recycle::{self, Mixed, Recycle};

/// Returned values that wait to be used again, at most.
const RECYCLED_MAX: usize = 256;

impl Spraying for Oblivious {
    fn begin(_: &uec::Parameters) -> uec::Permutation {
        uec::Permutation::default()
    }
}

impl Spraying for Bitmap<Box<[u8]>> {
    fn begin(plan: &uec::Parameters) -> uec::State<Box<[u8]>> {
        uec::State::new(vec![0; plan.entropies as usize].into())
    }
}

impl Spraying for Recycle<Box<[u16]>> {
    fn begin(_: &uec::Parameters) -> recycle::State<Box<[u16]>> {
        recycle::State::new(vec![0; RECYCLED_MAX].into())
    }
}

impl Spraying for Mixed<Box<[u16]>, Box<[u8]>> {
    fn begin(plan: &uec::Parameters) -> recycle::MixedState<Box<[u16]>, Box<[u8]>> {
        recycle::MixedState::new(vec![0; RECYCLED_MAX].into(), vec![0; plan.entropies as usize].into())
    }
}
