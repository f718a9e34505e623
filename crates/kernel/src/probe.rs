//! What of the kernel datapaths need, found out by trying.

use crate::datapath::Datapath;
use crate::error::{KernelError, PRIVILEGES};
use crate::program::Scheme;
use nix::sys::statfs::{FsType, statfs};
use std::format;
use std::path::Path;
use std::string::{String, ToString as _};
use std::vec;
use std::vec::Vec;

/// Where pins go.
pub const PINS: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS: FsType = FsType(0xcafe_4a11);
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
    let release = release();
    let recent = release.1 >= TCX;
    let mut found = vec![
        Feature {
            name: "kernel 6.6 or newer (TCX)",
            there: recent,
            note: if recent { release.0 } else { format!("{}: upgrade it", release.0) },
        },
        match statfs(PINS) {
            Ok(kind) if kind.filesystem_type() == BPF_FS => {
                Feature { name: "BPF file system", there: true, note: PINS.into() }
            }
            _ => Feature { name: "BPF file system", there: false, note: format!("mount -t bpf bpf {PINS}") },
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
