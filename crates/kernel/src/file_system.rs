//! The BPF file system: mounted where it is missing and this process may, as iproute2 and bpftool do.

use crate::error::KernelError;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statfs::{FsType, statfs};
use std::format;
use std::fs::{File, read_link};
use std::string::String;

/// Mount point of the BPF file system.
pub const PINS: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS: FsType = FsType(0xcafe_4a11);
/// Options of the mount: as systemd has them.
const OPTIONS: &str = "mode=0700";

/// Mounts the BPF file system if there is none.
///
/// # Errors
/// The privilege is missing, the mount would end with this process, or the kernel has no BPF.
pub fn require() -> Result<(), KernelError> {
    if mounted() {
        return Ok(());
    }
    // Two processes may see that it is missing; a second mount would hide what is pinned in the first. The folder
    // below is one for all mount namespaces, can be locked on a read-only /sys too, and waits for one system call.
    let below = File::open(PINS).map_err(|_| {
        KernelError::new(PINS, "there is no such folder: the kernel has no BPF, or /sys is not mounted")
    })?;
    below.lock().map_err(KernelError::of_call(PINS))?;
    if mounted() {
        return Ok(());
    }
    lasts()?;
    mount_here()
}

/// Whether the BPF file system is mounted.
pub(crate) fn mounted() -> bool {
    statfs(PINS).is_ok_and(|found| found.filesystem_type() == BPF_FS)
}

/// Mounts one that only the calling thread sees, for good: to find out whether it can be done.
pub(crate) fn mount_unseen() -> Result<(), KernelError> {
    lasts()?;
    unshare(CloneFlags::CLONE_NEWNS).map_err(refused)?;
    let apart = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, apart, None::<&str>).map_err(refused)?;
    mount_here()
}

fn mount_here() -> Result<(), KernelError> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RELATIME;
    mount(Some("bpf"), PINS, Some("bpf"), flags, Some(OPTIONS)).map_err(refused)
}

/// Refuses a mount namespace that ends with its command, as that of `ip netns exec`: all pins would end with it.
fn lasts() -> Result<(), KernelError> {
    let of_machine = read_link("/proc/1/ns/mnt");
    if of_machine.is_ok_and(|first| read_link("/proc/thread-self/ns/mnt").is_ok_and(|own| own == first)) {
        return Ok(());
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(refused(Errno::EPERM));
    }
    let why = "no BPF file system here, and one mounted in this mount namespace would end with it; hint: enter a \
               network namespace by `nsenter --net=/run/netns/NAME`, as `ip netns exec` hides the machine's mounts, or ";
    Err(KernelError::new(PINS, format!("{why}{}", command())))
}

fn refused(error: Errno) -> KernelError {
    let why = match error {
        Errno::EPERM | Errno::EACCES => "no BPF file system, and this user may not mount one".into(),
        Errno::ENODEV => "no BPF file system: this kernel has no BPF (CONFIG_BPF_SYSCALL)".into(),
        other => format!("no BPF file system, and none can be mounted: {other}"),
    };
    KernelError::new(PINS, format!("{why}; hint: as root, {}", command()))
}

fn command() -> String {
    format!("mount -t bpf bpf {PINS}")
}
