"""Where datapaths are pinned: a folder per network namespace in the BPF file system, and one in it per datapath."""

from __future__ import annotations

from pathlib import Path

from anabranch import AnabranchError

MOUNT = Path("/sys/fs/bpf")
ROOT = MOUNT / "anabranch"


def own_namespace() -> int:
    """The number of the calling thread's network namespace: its inode's. A later one may have the same."""
    return Path("/proc/thread-self/ns/net").stat().st_ino


def folder_of(namespace: int) -> Path:
    """Of the datapaths of a network namespace."""
    return ROOT / str(namespace)


def own_folder() -> Path:
    """The same of the calling thread's."""
    return folder_of(own_namespace())


def require_file_system() -> None:
    """Raises an AnabranchError, with the mend, where there is no BPF file system."""
    mounts = Path("/proc/thread-self/mountinfo").read_text().splitlines()
    # The mount point is the fifth field; the type the first after the dash (`proc_pid_mountinfo(5)`).
    kinds = [line.split(" - ")[1].split()[0] for line in mounts if line.split()[4] == str(MOUNT)]
    if not kinds or kinds[-1] != "bpf":
        mend = f"mount -t bpf bpf {MOUNT}"
        hidden = "`ip netns exec` hides it: use nsenter --net=/run/netns/NAME instead"
        raise AnabranchError(f"{MOUNT}: no BPF file system, where datapaths are kept; {mend} ({hidden})")
