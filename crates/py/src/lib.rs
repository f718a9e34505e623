//! The extension module `anabranch._core`: converts between Python and the crates, and decides nothing.
//!
//! Every call that works for long releases the GIL. The types are written down in `python/anabranch/_core.pyi`.

// PyO3 hands the arguments of functions over by value.
#![allow(clippy::needless_pass_by_value)]

mod attribute_graph;
mod columns;
mod connections;
mod error;
mod fabric;
mod flow_pieces;
mod kernel;
mod network;
mod own_hosts;
mod own_scheme;
mod pair_plan;
mod progress;
mod replay;
mod scenario_keys;
mod schemes;
mod simulation;
mod slices;
mod splitter;
mod targets;
mod topology;
mod tuples;
mod work;

use anabranch_sim::HugePages;
use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::attribute_graph::check_graph;
    #[pymodule_export]
    use super::connections::Connections;
    #[pymodule_export]
    use super::fabric::Fabric;
    #[pymodule_export]
    use super::kernel::{
        KernelDatapath, KernelGroup, kernel_shares, kernel_turns, probe_kernel, require_bpf_file_system,
    };
    #[pymodule_export]
    use super::network::Network;
    #[pymodule_export]
    use super::own_hosts::{Ack, Connection};
    #[pymodule_export]
    use super::own_scheme::{Group, Member, Packet, View};
    #[pymodule_export]
    use super::pair_plan::{pair_planners, plan_pair};
    #[pymodule_export]
    use super::progress::Progress;
    #[pymodule_export]
    use super::replay::{Recording, generators, replay};
    #[pymodule_export]
    use super::scenario_keys::scenario_keys;
    #[pymodule_export]
    use super::schemes::schemes;
    #[pymodule_export]
    use super::simulation::{Run, Scenario, columns};
    #[pymodule_export]
    use super::slices::{
        cut_slices, meter_error_percent, metered_frames, outside_bps, slice_picks, virtual_topologies,
    };
    #[pymodule_export]
    use super::splitter::{Splitter, techniques};
    #[pymodule_export]
    use super::targets::{
        cumulative_slots, dp_hash_slots, gravity_weights, hash_input, ovs_select, webster_slots,
        weight_integers,
    };
    #[pymodule_export]
    use super::tuples::{flow_keys, hashes};
    #[pymodule_export]
    use super::work::describe_work;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("MODEL_VERSION", anabranch_scenario::MODEL_VERSION)?;
        module.add("KERNEL_SCHEMES", super::kernel::scheme_names())?;
        module.add("KERNEL_GIVES", super::schemes::kernel_gives())?;
        module.add("OPTIMISED", !cfg!(debug_assertions))
    }
}
