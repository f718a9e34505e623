//! Features of the kernel that datapaths need, tried out.

use crate::datapath::Datapath;
use crate::error::{KernelError, PRIVILEGES};
use crate::file_system::{self, PINS};
use crate::object::Object;
use std::format;
use std::panic::resume_unwind;
use std::path::Path;
use std::string::{String, ToString as _};
use std::thread;
use std::vec;
use std::vec::Vec;

/// TCX, whose links can be pinned: without it a program on a device belongs to whoever finds it.
const TCX: (u32, u32) = (6, 6);

/// One feature that datapaths need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Name of the feature.
    pub name: &'static str,
    /// Whether the kernel has it.
    pub present: bool,
    /// Observed version or state, or a hint.
    pub note: String,
}

/// All features, in the order in which one would provide them.
#[must_use]
pub fn features() -> Vec<Feature> {
    if file_system::mounted() {
        return examine(Ok(PINS.into()));
    }
    // In mounts of a thread's own: to ask is to change nothing.
    let unseen =
        || examine(file_system::mount_unseen().map(|()| "not mounted; it is when something needs it".into()));
    thread::spawn(unseen).join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// The features, where the BPF file system is as said.
fn examine(file_system: Result<String, KernelError>) -> Vec<Feature> {
    let release = release();
    let recent = release.1 >= TCX;
    let mut found = vec![
        Feature {
            name: "kernel 6.6 or newer (TCX)",
            present: recent,
            note: if recent { release.0 } else { format!("{}: upgrade it", release.0) },
        },
        Feature {
            name: "BPF file system",
            present: file_system.is_ok(),
            note: file_system.unwrap_or_else(|error| error.to_string()),
        },
    ];
    if found.iter().all(|feature| feature.present) {
        let (present, note) = match tried() {
            Ok(()) => (true, "a program was loaded and pinned".to_string()),
            Err(error) => (false, error.to_string()),
        };
        found.push(Feature { name: PRIVILEGES, present, note });
    }
    found
}

/// Makes a datapath and removes it.
fn tried() -> Result<(), KernelError> {
    let folder = Path::new(PINS).join(format!("anabranch-probe-{}", nix::unistd::gettid()));
    Datapath::create(&folder, Object::Slots, 1, 0)?.remove()
}

fn release() -> (String, (u32, u32)) {
    let Ok(system) = nix::sys::utsname::uname() else { return ("unknown".into(), (0, 0)) };
    let text = system.release().to_string_lossy().into_owned();
    let mut numbers = text.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (text, version)
}
