//! Wino's parameters.

use crate::wino::pick as wino;
use anabranch_plan::{SliceRule, SliceScope};

/// Wino's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Wino {
    /// Which paths are cut into slices of one size.
    pub scope: SliceScope,
    /// How they are cut.
    pub slices: SliceRule,
    /// Part of a link's bandwidth that the slices of a pair of leaves are cut from.
    pub bandwidth: SliceBandwidth,
    /// Whether every path has as many slices as any other, whatever it has left (a mutation).
    pub equal_slices: bool,
    /// Part of a link's rate by which traffic in no slice must change until slices are cut anew.
    pub hysteresis: f64,
    /// Settings of the hosts and leaves that use the slices.
    pub switches: wino::Parameters,
    /// Time between two measurements of traffic that is in no slice, in nanoseconds.
    pub poll_ns: u64,
    /// From a change that the controller learns of to new rules in leaves and hosts, in nanoseconds.
    pub install_delay_ns: u64,
}

/// Part of a link's bandwidth that the slices of a pair of leaves are cut from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SliceBandwidth {
    /// All that traffic without slices leaves, whoever else has slices there.
    #[default]
    Full,
    /// Its part, if all pairs that sent since the last measurement had the same.
    Active,
}

impl Default for Wino {
    fn default() -> Self {
        Self {
            scope: SliceScope::default(),
            slices: SliceRule::default(),
            bandwidth: SliceBandwidth::default(),
            equal_slices: false,
            hysteresis: 0.05,
            switches: wino::Parameters::default(),
            poll_ns: 1_000_000_000,
            install_delay_ns: 10_000_000,
        }
    }
}
