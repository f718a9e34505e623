"""Requirements of a lab on a machine."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from anabranch.files.errors import AnabranchError

CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
"""Bits of linux/capability.h."""
FOR_NAMESPACES = ("CAP_SYS_ADMIN", "CAP_NET_ADMIN")
"""Capabilities that network namespaces, devices in them and their names take."""
PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
}
"""Programs that every lab needs, and the Debian package that has each."""


def check_machine(more: Mapping[str, str] | None = None) -> None:
    """Says what this machine lacks for a lab, whose switches need some programs more (by package, as `PROGRAMS`).

    Raises:
        AnabranchError: a program or a privilege.

    """
    for program, package in (PROGRAMS | dict(more or {})).items():
        if shutil.which(program) is None:
            raise AnabranchError(f"{program}: not on the PATH; apt install {package}")
    if not privileged():
        raise AnabranchError("lab: network namespaces need root (CAP_SYS_ADMIN and CAP_NET_ADMIN); run it with sudo")


def privileged() -> bool:
    """Whether this process may make network namespaces, devices in them, and name them."""
    return not lacking(FOR_NAMESPACES)


def lacking(capabilities: Sequence[str]) -> list[str]:
    """Missing ones of some `CAPABILITIES`, which this process has not."""
    effective = 0
    for line in Path("/proc/self/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == "CapEff":
            effective = int(value, 16)
    return [name for name in capabilities if not effective >> CAPABILITIES[name] & 1]
