//! Registry entries of VMS: by the heavier of two channels, by windows, and over gravity weights.

use super::keys;
use crate::descriptor::Descriptor;
use crate::hosts::relayed::RelayedHosts;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use crate::vms::host::VirtualSwitch;
use crate::vms::pick::Selection;
use crate::vms::settings::Vms;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};

/// VMS by the heavier of two channels.
pub static VMS: Descriptor = Descriptor::of_hosts("vms", "packet", include_str!("page.md"), || {
    Scheme::new(Vms::new(Selection::HeavierOfTwo))
});

/// VMS by windows of channels.
pub static VMS_WINDOW: Descriptor =
    Descriptor::of_hosts("vms-window", "packet", include_str!("page.md"), || {
        Scheme::new(Vms::new(Selection::Window))
    });

/// VMS' weights under VALO's gravity scores.
pub static VMS_VALO: Descriptor =
    Descriptor::of_hosts("vms+valo", "flowcell", include_str!("page.md"), || {
        Scheme::new(Vms::new(Selection::ScoreOfUnit))
    });

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
            let make = move |round_trip_ns| VirtualSwitch(vms.over(round_trip_ns), vms.gravity);
            RelayedHosts::new(make, task.fabric, framing, seed)
        };
        task.by_tables(Some(&mut || Ok(Box::new(hosts()?))))
    }
}
