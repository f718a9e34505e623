//! Maps and programs of a datapath, pinned under their names.

use crate::capacity::Capacity;
use crate::error::KernelError;
use crate::layout::GENERATION;
use crate::object::Object;
use aya::programs::{Program, SchedClassifier, Xdp};
use std::path::Path;

/// The program for tc.
pub(crate) const TC: &str = "tc";
/// The program for XDP, where the scheme has one.
pub(crate) const XDP: &str = "xdp";
/// Maps that a datapath is known by, and their pins: the file system takes no dots.
const MAPS: [(&str, &str); 6] = [
    ("PLANS", "PLANS"),
    (GENERATION, "GENERATION"),
    ("ROUTES", "ROUTES"),
    ("COUNTERS", "COUNTERS"),
    ("NAMES", "NAMES"),
    ("GATEWAYS", "GATEWAYS"),
];

/// Loads the object and pins what it has into `folder`.
pub(crate) fn load(folder: &Path, object: Object, groups: u32, routes: u32) -> Result<(), KernelError> {
    let mut ebpf = Capacity { groups, routes, replay: false }.load(object)?;
    for (name, pin) in MAPS {
        let map = ebpf.map(name).ok_or_else(|| KernelError::new(name, "no such map in the program"))?;
        map.pin(folder.join(pin)).map_err(KernelError::of(name))?;
    }
    for (_, program) in ebpf.programs_mut() {
        match program {
            Program::SchedClassifier(program) => keep_tc(program, folder)?,
            Program::Xdp(program) => keep_xdp(program, folder)?,
            _ => {}
        }
    }
    Ok(())
}

fn keep_tc(program: &mut SchedClassifier, folder: &Path) -> Result<(), KernelError> {
    program.load().map_err(KernelError::of("eBPF program"))?;
    program.pin(folder.join(TC)).map_err(KernelError::of("eBPF program"))
}

fn keep_xdp(program: &mut Xdp, folder: &Path) -> Result<(), KernelError> {
    program.load().map_err(KernelError::of("XDP program"))?;
    program.pin(folder.join(XDP)).map_err(KernelError::of("XDP program"))
}
