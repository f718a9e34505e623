//! What of the kernel datapaths need, found out by trying.

use crate::datapath::Datapath;
use crate::error::{KernelError, PRIVILEGES};
use crate::file_system::{self, PINS};
use crate::scheme::Scheme;
use std::format;
use std::panic::resume_unwind;
use std::path::Path;
use std::string::{String, ToString as _};
use std::thread;
use std::vec;
use std::vec::Vec;

/// TCX, whose links can be pinned: without it a program on a device belongs to whoever finds it.
const TCX: (u32, u32) = (6, 6);

/// One thing that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// What.
    pub name: &'static str,
    /// Whether it is there.
    pub there: bool,
    /// What is there, or what to do.
    pub note: String,
}

/// All that is needed, in the order in which one would mend it.
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
            there: recent,
            note: if recent { release.0 } else { format!("{}: upgrade it", release.0) },
        },
        Feature {
            name: "BPF file system",
            there: file_system.is_ok(),
            note: file_system.unwrap_or_else(|error| error.to_string()),
        },
    ];
    if found.iter().all(|feature| feature.there) {
        let (there, note) = match tried() {
            Ok(()) => (true, "a program was loaded and pinned".to_string()),
            Err(error) => (false, error.to_string()),
        };
        found.push(Feature { name: PRIVILEGES, there, note });
    }
    found
}

/// Makes a datapath and removes it.
fn tried() -> Result<(), KernelError> {
    let folder = Path::new(PINS).join(format!("anabranch-probe-{}", nix::unistd::gettid()));
    Datapath::create(&folder, Scheme::Slots, 1, 0)?.remove()
}

fn release() -> (String, (u32, u32)) {
    let Ok(system) = nix::sys::utsname::uname() else { return ("unknown".into(), (0, 0)) };
    let text = system.release().to_string_lossy().into_owned();
    let mut numbers = text.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (text, version)
}
