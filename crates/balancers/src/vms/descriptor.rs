//! Registry entries of VMS: by the heavier of two channels, by windows, and over gravity weights.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::hosts::relayed::RelayedHosts;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use crate::vms::host::VirtualSwitch;
use crate::vms::pick::Selection;
use crate::vms::settings::Vms;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// VMS by the heavier of two channels.
pub static VMS: Descriptor = Descriptor {
    name: "vms",
    granularity: "packet",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Vms::new(Selection::HeavierOfTwo))),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

/// VMS by windows of channels.
pub static VMS_WINDOW: Descriptor = Descriptor {
    name: "vms-window",
    granularity: "packet",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Vms::new(Selection::Window))),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

/// VMS' weights under VALO's gravity scores.
pub static VMS_VALO: Descriptor = Descriptor {
    name: "vms+valo",
    granularity: "flowcell",
    decider: Decider::Hosts,
    page: include_str!("page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Vms::new(Selection::ScoreOfUnit))),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for Vms {
    fn descriptor(&self) -> &'static Descriptor {
        match self.rules.selection {
            Selection::HeavierOfTwo => &VMS,
            Selection::Window => &VMS_WINDOW,
            Selection::ScoreOfUnit | Selection::ScoreOfFlow => &VMS_VALO,
        }
    }

    fn needs(&self) -> u32 {
        VirtualSwitch::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (framing, seed) = (task.settings.framing, task.settings.seed);
        let hosts = || {
            let vms = self.clone();
            let make = move |round_trip_ns| VirtualSwitch(vms.over(round_trip_ns));
            RelayedHosts::new(make, task.fabric, framing, seed)
        };
        task.by_tables(Some(&mut || Ok(Box::new(hosts()?))))
    }
}
