//! The folder of a datapath on the BPF file system: maps and programs under their names, made and removed whole.

use crate::error::KernelError;
use crate::layout::GENERATION;
use crate::link;
use crate::program::{Capacity, Scheme};
use aya::programs::{Program, SchedClassifier, Xdp};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::string::ToString as _;

/// The program for tc.
pub(crate) const TC: &str = "tc";
/// The program for XDP, where the scheme has one.
pub(crate) const XDP: &str = "xdp";
/// Maps that a datapath is known by, and their pins: the file system takes no dots.
const MAPS: [(&str, &str); 5] = [
    ("PLANS", "PLANS"),
    (GENERATION, "GENERATION"),
    ("ROUTES", "ROUTES"),
    ("COUNTERS", "COUNTERS"),
    ("NAMES", "NAMES"),
];

/// Loads the object and pins what it has into `folder`.
pub(crate) fn load(folder: &Path, scheme: Scheme, groups: u32, routes: u32) -> Result<(), KernelError> {
    let mut ebpf = Capacity { groups, routes, replay: false }.load(scheme)?;
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

/// Makes a folder, if it is not there, and keeps other processes from changing datapaths in it.
pub(crate) fn made(folder: &Path) -> Result<File, KernelError> {
    loop {
        fs::create_dir_all(folder).map_err(KernelError::of(folder.display().to_string()))?;
        match alone(folder) {
            // Who removed the last datapath may have removed the folder while we waited.
            Ok(file) if is_at(&file, folder) => return Ok(file),
            Err(error) if folder.exists() => return Err(error),
            _ => {}
        }
    }
}

fn is_at(file: &File, folder: &Path) -> bool {
    let number = |metadata: fs::Metadata| metadata.ino();
    file.metadata().map(number).ok() == fs::metadata(folder).map(number).ok()
}

/// Keeps other processes from changing datapaths of the same folder while it lives.
pub(crate) fn alone(folder: &Path) -> Result<File, KernelError> {
    let what = || folder.display().to_string();
    let file = File::open(folder).map_err(KernelError::of(what()))?;
    file.lock().map_err(KernelError::of(what()))?;
    Ok(file)
}

/// Removes a folder of pins: first links, that no packet meets a half datapath.
pub(crate) fn clear(folder: &Path) -> Result<(), KernelError> {
    let what = || folder.display().to_string();
    take_off(folder)?;
    for entry in fs::read_dir(folder).map_err(KernelError::of(what()))? {
        let entry = entry.map_err(KernelError::of(what()))?;
        fs::remove_file(entry.path()).map_err(KernelError::of(what()))?;
    }
    fs::remove_dir(folder).map_err(KernelError::of(what()))
}

/// Takes the program of a folder off all devices.
pub(crate) fn take_off(folder: &Path) -> Result<(), KernelError> {
    for attachment in link::attachments(folder)? {
        link::detach(folder, attachment.device, attachment.hook)?;
    }
    Ok(())
}
