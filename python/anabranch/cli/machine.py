"""Examination of this machine: abilities that it has or lacks, each with a hint."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch import _core
from anabranch._core import VERSION
from anabranch.deploy.targets.ebpf.leftovers import leftovers
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import PACKAGES, install
from anabranch.lab.fabric.machine import FOR_NAMESPACES, lacking

PRIVILEGES = "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"
"""Privileges for loading programs, in the words of the kernel half (`crates/kernel/src/error.rs`)."""
FOR_DATAPATHS = ("CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON")
AS_ROOT = "run anabranch doctor as root"
TIMEOUT_S = 20
MEMORY_LEAST_GIB = 2.0
"""Memory that a trace of ten million connections and the report need."""


@dataclass(frozen=True)
class Finding:
    """Result of one examination. `ok` is None if the lack costs only speed or a side feature."""

    what: str
    found: str
    ok: bool | None
    hint: str = ""


def examine() -> Iterator[Finding]:
    """Yields all findings, the most important first."""
    version = platform.python_version()
    yield Finding("Python", f"{version}, {sys.executable}", sys.version_info >= (3, 10), "install Python 3.10 or newer")
    build = "release" if _core.OPTIMISED else "debug: costs per decision are meaningless"
    yield Finding("extension", f"{VERSION}, {build} build", _core.OPTIMISED, "make build")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("processor", f"{_processor()}, {cores} cores", True)
    flags = _cpu_flags()
    for flag, gain in (("avx2", "scoring and rendezvous run their scalar code"), ("avx512f", "no code here needs it")):
        yield Finding(flag, "yes" if flag in flags else "no", True if flag in flags else None, gain)
    gib = _memory_gib()
    yield Finding("memory", f"{gib:.1f} GiB", gib >= MEMORY_LEAST_GIB, f"free {MEMORY_LEAST_GIB:.0f} GiB")
    for program, package, use in (
        ("tcpdump", "tcpdump", "recording captures in tests"),
        ("tshark", "tshark", "checking captures against its conversation list"),
        ("ovs-vswitchd", "openvswitch-switch", "labs, and checking plans against Open vSwitch"),
        ("ip", "iproute2", "labs"),
        ("tc", "iproute2", "rates of labs' links"),
        ("nft", "nftables", "marking at labs' hosts"),
    ):
        path = shutil.which(program)
        yield Finding(program, path or f"missing; for {use}", True if path else None, f"apt install {package}")
    lacking = [name for name in PACKAGES["switches"] if importlib.util.find_spec(name.replace("-", "_")) is None]
    packages = "installed" if not lacking else f"{', '.join(lacking)} missing; for switches, labs and the controller"
    yield Finding("Python packages for switches", packages, None if lacking else True, install("switches"))
    unprivileged = _unprivileged(FOR_NAMESPACES)
    able, reason = (False, unprivileged) if unprivileged else _namespaces()
    yield Finding("network namespaces", reason, True if able else None, "run labs, and the tests that record, as root")
    for feature, is_present, note in _core.probe_kernel():
        hint = AS_ROOT if _unprivileged(FOR_DATAPATHS) else "see docs/deploy-ebpf.md"
        if feature == PRIVILEGES and not is_present:
            note = _unprivileged(FOR_DATAPATHS) or note
        yield Finding(f"eBPF: {feature}", note, True if is_present else None, hint)
    qdiscs, reason = (False, unprivileged) if unprivileged else _qdiscs()
    hint = AS_ROOT if unprivileged else "take a kernel with sch_htb (CONFIG_NET_SCH_HTB)"
    yield Finding("shaping", reason, True if qdiscs else None, hint)
    yield from _left_behind()


def _unprivileged(capabilities: Sequence[str]) -> str:
    """Privileges that this user lacks, so that nothing can be said of the kernel; empty if none."""
    missing = lacking(capabilities)
    return f"not tried: this user lacks {' and '.join(missing)}" if missing else ""


def _left_behind() -> Iterator[Finding]:
    """Finds datapaths that only their pins hold; nothing if there are none, or if this user may not see them."""
    try:
        orphans = leftovers()
    except AnabranchError:
        return
    for these, of, hint in (
        (orphans.ended, "that have ended", "anabranch remove --target ebpf --stale"),
        (orphans.unsure, "that may have ended", "anabranch remove --target ebpf --stale, as root of the machine"),
    ):
        if these:
            what = ", ".join(f"{one.folder.name}: {' '.join(one.datapaths) or 'empty'}" for one in these)
            count = f"{sum(len(one.datapaths) for one in these)} in {len(these)}: "
            yield Finding(f"eBPF: datapaths of network namespaces {of}", count + what, None, hint)


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _cpu_flags() -> set[str]:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith(("flags", "Features")):
            return set(line.partition(":")[2].split())
    return set()


def _memory_gib() -> float:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) / 2**20
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def _namespaces() -> tuple[bool, str]:
    """Tests whether a network namespace can be created, with unshare, which leaves nothing behind."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return False, "unshare is missing"
    return _tried([unshare, "--net", "true"], "can be made")


def _qdiscs() -> tuple[bool, str]:
    """Tests whether links of labs can have rates, on the loopback device of a namespace that ends at once."""
    tried = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:", "htb"]
    if not all(shutil.which(program) for program in ("unshare", "tc")):
        return False, "unshare or tc is missing"
    return _tried(tried, "HTB can be set")


def _tried(command: Sequence[str], success: str) -> tuple[bool, str]:
    """Whether a command succeeds, and what to say of it."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return False, f"no answer within {TIMEOUT_S} s"
    return run.returncode == 0, success if run.returncode == 0 else run.stderr.strip()
