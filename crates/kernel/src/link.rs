//! Programs on devices: links of the kernel (`bpf_link`), pinned in a datapath's folder, so that they outlive the
//! process, and are ours alone to take away.

use crate::error::KernelError;
use crate::pins::{TC, XDP};
use aya::programs::links::{FdLink, PinnedLink};
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions};
use aya::programs::xdp::{XdpLink, XdpMode};
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType, Xdp};
use aya_obj::programs::XdpAttachType;
use nix::libc;
use std::ffi::CString;
use std::format;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::string::String;
use std::vec::Vec;

/// Point at which a program meets packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// tc, as packets come in.
    Ingress,
    /// tc, as packets leave.
    Egress,
    /// The driver, before there is an `sk_buff`; it redirects past every queue.
    Xdp,
}

impl Hook {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ingress, Self::Egress, Self::Xdp];

    /// Name in plans and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
            Self::Xdp => "xdp",
        }
    }
}

/// A program of ours on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    /// The device's number when it was attached.
    pub device: u32,
    /// Hook it is attached to.
    pub hook: Hook,
    /// Whether the device is still there; the kernel takes a program off a device that goes away.
    pub alive: bool,
}

const PREFIX: &str = "link-";

fn file(device: u32, hook: Hook) -> String {
    format!("{PREFIX}{device}-{}", hook.name())
}

/// Attaches the datapath's program, behind others that are there, and pins the link.
pub(crate) fn attach(folder: &Path, device: u32, hook: Hook) -> Result<(), KernelError> {
    let name = nix::net::if_::if_indextoname(device)
        .map_err(KernelError::of(format!("device {device}")))?
        .to_string_lossy()
        .into_owned();
    let what = || format!("{name}: {}", hook.name());
    let link = match hook {
        Hook::Ingress | Hook::Egress => {
            let mut program = SchedClassifier::from_pin(folder.join(TC)).map_err(KernelError::of(what()))?;
            let place = if hook == Hook::Ingress { TcAttachType::Ingress } else { TcAttachType::Egress };
            let order = TcAttachOptions::TcxOrder(LinkOrder::default());
            let id = program.attach_with_options(&name, place, order).map_err(KernelError::of(what()))?;
            let link = program.take_link(id).map_err(KernelError::of(what()))?;
            FdLink::try_from(link).map_err(KernelError::of(what()))?
        }
        Hook::Xdp => {
            let mut program = xdp(folder, &what())?;
            let id = program
                .attach_to_if_index(device, XdpMode::default())
                .map_err(KernelError::of(format!("{}, which takes one program", what())))?;
            let link = program.take_link(id).map_err(KernelError::of(what()))?;
            FdLink::try_from(link).map_err(KernelError::of(what()))?
        }
    };
    link.pin(folder.join(file(device, hook))).map_err(KernelError::of(what())).map(drop)
}

/// Replaces the program of `before` on a device by that of `folder` in one step, and moves the link's pin.
pub(crate) fn replace(folder: &Path, before: &Path, device: u32, hook: Hook) -> Result<(), KernelError> {
    let what = || format!("device {device}: {}", hook.name());
    let pin = before.join(file(device, hook));
    let link = FdLink::from(PinnedLink::from_pin(&pin).map_err(KernelError::of(what()))?);
    match hook {
        Hook::Ingress | Hook::Egress => {
            let mut program = SchedClassifier::from_pin(folder.join(TC)).map_err(KernelError::of(what()))?;
            let link = SchedClassifierLink::try_from(link).map_err(KernelError::of(what()))?;
            let id = program.attach_to_link(link).map_err(KernelError::of(what()))?;
            // Taken, so that it is not detached with the program's handle.
            program.take_link(id).map_err(KernelError::of(what())).map(drop)?;
        }
        Hook::Xdp => {
            let mut program = xdp(folder, &what())?;
            let link = XdpLink::try_from(link).map_err(KernelError::of(what()))?;
            let id = program.attach_to_link(link).map_err(KernelError::of(what()))?;
            program.take_link(id).map_err(KernelError::of(what())).map(drop)?;
        }
    }
    fs::rename(pin, folder.join(file(device, hook))).map_err(KernelError::of_call(what()))
}

fn xdp(folder: &Path, what: &str) -> Result<Xdp, KernelError> {
    let file = folder.join(XDP);
    if !file.exists() {
        let why = "this scheme's program needs what XDP does not give; take ingress";
        return Err(KernelError::new(what, why));
    }
    Xdp::from_pin(file, XdpAttachType::Interface).map_err(KernelError::of(what))
}

/// Takes the program off the device at once, and the pinned link away. Without its pin the kernel would free the link too,
/// but later, from a worker of its own, and refuse until then what is attached in its place.
pub(crate) fn detach(folder: &Path, device: u32, hook: Hook) -> Result<(), KernelError> {
    /// `BPF_LINK_DETACH` of bpf(2), with the descriptor of the link.
    const DETACH: libc::c_long = 34;
    let what = || format!("device {device}: {}: not attached here", hook.name());
    let pin = folder.join(file(device, hook));
    let link = opened(&pin).map_err(KernelError::of_call(what()))?;
    let descriptor = link.as_raw_fd() as u32;
    // SAFETY: the kernel reads four bytes, which live until it returns. Where the device is gone there is nothing to do.
    unsafe { libc::syscall(libc::SYS_bpf, DETACH, &raw const descriptor, size_of::<u32>()) };
    fs::remove_file(pin).map_err(KernelError::of_call(what()))
}

/// All links of a datapath, by device and hook; none of one that has been removed.
pub(crate) fn attachments(folder: &Path) -> Result<Vec<Attachment>, KernelError> {
    let what = || format!("{}", folder.display());
    let mut found = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(KernelError::of_call(what()))?,
    };
    for entry in entries {
        let entry = entry.map_err(KernelError::of_call(what()))?;
        let name = entry.file_name();
        let parts = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        let Some((device, hook)) = parts else { continue };
        let hook = Hook::ALL.into_iter().find(|one| one.name() == hook);
        let (Ok(device), Some(hook)) = (device.parse(), hook) else { continue };
        let alive = match attached_to(&entry.path()) {
            // Another process has detached it since the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            number => number.map_err(KernelError::of_call(what()))? == device,
        };
        found.push(Attachment { device, hook, alive });
    }
    found.sort();
    Ok(found)
}

/// Takes the program of a folder off all devices.
pub(crate) fn take_off(folder: &Path) -> Result<(), KernelError> {
    for attachment in attachments(folder)? {
        detach(folder, attachment.device, attachment.hook)?;
    }
    Ok(())
}

/// Number of the device that a pinned link belongs to, 0 if that is gone. The library does not tell.
fn attached_to(path: &Path) -> io::Result<u32> {
    /// `BPF_OBJ_GET_INFO_BY_FD` of bpf(2).
    const INFORM: libc::c_long = 15;
    /// `struct bpf_link_info`: type, id, number of the program, and from 16 on what the type has; for XDP and TCX that
    /// begins with the device.
    #[repr(C, align(8))]
    struct Info([u32; 32]);
    #[repr(C)]
    struct Informing {
        descriptor: u32,
        bytes: u32,
        info: u64,
    }
    const DEVICE: usize = 4;
    let link = opened(path)?;
    let mut info = Info([0; 32]);
    let informing = Informing {
        descriptor: link.as_raw_fd() as u32,
        bytes: size_of::<Info>() as u32,
        info: (&raw mut info) as u64,
    };
    // SAFETY: the kernel writes no more than `bytes` to `info`.
    let done = unsafe { libc::syscall(libc::SYS_bpf, INFORM, &raw const informing, size_of::<Informing>()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(info.0[DEVICE]) }
}

/// A pinned link.
fn opened(path: &Path) -> io::Result<OwnedFd> {
    /// `BPF_OBJ_GET` of bpf(2).
    const OPEN: libc::c_long = 7;
    #[repr(C)]
    struct Opening {
        path: u64,
        descriptor: u32,
        flags: u32,
    }
    let path = CString::new(path.as_os_str().as_bytes())?;
    let opening = Opening { path: path.as_ptr() as u64, descriptor: 0, flags: 0 };
    // SAFETY: the kernel reads the attributes and the path, which live until it returns.
    let descriptor = unsafe { libc::syscall(libc::SYS_bpf, OPEN, &raw const opening, size_of::<Opening>()) };
    let descriptor = i32::try_from(descriptor).unwrap_or(-1);
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
