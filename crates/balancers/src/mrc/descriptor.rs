//! Registry entry of MRC: what it is called, what it needs, how it is built.

use super::host::MrcHosts;
use super::keys;
use crate::descriptor::Descriptor;
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::mrc::pick::{Mrc, Parameters, Value};
use crate::task::Task;
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::Pick as _;

/// Registry entry of MRC.
pub static MRC: Descriptor =
    Descriptor::of_hosts("mrc", "packet", include_str!("page.md"), || Scheme::new(Parameters::DEFAULT));

impl LoadBalancer for Parameters {
    fn descriptor(&self) -> &'static Descriptor {
        &MRC
    }

    fn needs(&self) -> u32 {
        Mrc::<Box<[Value]>>::NEEDS
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, self);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let (fabric, seed) = (task.fabric, task.settings.seed);
        task.by_tables(Some(&mut || Ok(Box::new(MrcHosts::new(self, fabric, seed)))))
    }
}
