"""Folders of pinned datapaths: one per network namespace in the BPF file system, and one in it per datapath."""

from __future__ import annotations

from pathlib import Path

from anabranch import _core
from anabranch.deploy.service.needs import NETLINK, Needs

MOUNT = Path("/sys/fs/bpf")
ROOT = MOUNT / "anabranch"
NEEDS = NETLINK | Needs(
    frozenset({"CAP_BPF", "CAP_PERFMON"}), calls=frozenset({"bpf"}), writes=frozenset({str(MOUNT)}), as_root=True
)
"""What datapaths take of a machine; the file system's folder is root's."""


def own_namespace() -> int:
    """The number of the calling thread's network namespace: its inode's. A later one may have the same."""
    return Path("/proc/thread-self/ns/net").stat().st_ino


def folder_of(namespace: int) -> Path:
    """The folder of the datapaths of a network namespace."""
    return ROOT / str(namespace)


def own_folder() -> Path:
    """Folder of pins of the calling thread's network namespace."""
    return folder_of(own_namespace())


def require_file_system() -> None:
    """Mounts the BPF file system if there is none.

    Raises:
        AnabranchError: the privilege is missing, or a mount would not outlast this process; it names the command.

    """
    _core.require_bpf_file_system()
