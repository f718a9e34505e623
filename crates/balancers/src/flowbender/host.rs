//! FlowBender at the sending host.

use crate::flowbender::pick::{self as flowbender, FlowBender};
use crate::hosts::entropy::Spraying;

impl Spraying for FlowBender {
    fn begin(_: &flowbender::Parameters) -> flowbender::State {
        flowbender::State::default()
    }
}
