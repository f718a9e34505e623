"""Privileges that a user who is not root needs for datapaths, and the errors without them."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import struct
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.cli import machine
from anabranch.deploy.targets.ebpf import datapath as ebpf_datapath
from anabranch.deploy.targets.ebpf import plan_file as ebpf_plan
from anabranch.deploy.targets.ebpf.change import put
from anabranch.deploy.targets.ebpf.folder import own_folder
from anabranch.deploy.targets.ebpf.observe import devices_now
from anabranch.deploy.targets.ebpf.scheme import kernel_scheme
from support.own_datapaths import arrivals, frame, pairs, strays, with_own_datapaths

NOBODY = 65534
NET_ADMIN, PERFMON, BPF = 12, 38, 39
ALL = (BPF, NET_ADMIN, PERFMON)
KEEP_CAPABILITIES = 8
VERSION_3 = 0x20080522
"""`_LINUX_CAPABILITY_VERSION_3` of linux/capability.h; two words of 32 bits per set."""
HINT = "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and a folder that is this user's to write; or root"
PLAN = """\
scheme = "{scheme}"
seed = 7
[switch]
dev = ["in"]
[[group]]
name = "a"
match = {{ ip_dst = "10.2.0.0/16" }}
ports = ["e1", "e2"]
"""


def as_nobody(capabilities: tuple[int, ...], run: Callable[[], str]) -> str:
    """Answer of `run`, or the error, in a process of a user without privileges but these."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _become_nobody(capabilities)
            said = run()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as answer:
        return answer.read().decode()


def _become_nobody(capabilities: tuple[int, ...]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(KEEP_CAPABILITIES, 1, 0, 0, 0) == 0
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    mask = sum(1 << number for number in capabilities)
    low, high = mask & 0xFFFF_FFFF, mask >> 32
    sets = struct.pack("=6I", low, low, 0, high, high, 0)
    assert libc.capset(struct.pack("=Ii", VERSION_3, 0), sets) == 0


def put_scheme(scheme: str) -> str:
    plan = ebpf_plan.parse(PLAN.format(scheme=scheme), "plan.toml")
    made, found = put(plan, devices_now())
    assert found is not None
    assert found.datapath.shares() == [[0.5, 0.5]]
    return made.remains


def taken_away() -> str:
    with ebpf_datapath.locked():
        ebpf_datapath.remove(own_folder() / "plan")
    return "gone"


@with_own_datapaths
def test_three_capabilities_and_a_folder_suffice() -> None:
    pairs("in", "e1", "e2")
    root = Path("/sys/fs/bpf")
    root.chmod(0o711)
    mine = root / "anabranch"
    refused = as_nobody(ALL, lambda: put_scheme("ecmp"))
    assert refused.startswith(
        "AnabranchError: /sys/fs/bpf/anabranch: not this user's to write; run as root, or have root"
    )
    mine.mkdir()
    os.chown(mine, NOBODY, NOBODY)
    for scheme in ("ecmp", "valo", "log-rendezvous", "letflow", "presto", "spray", "weighted-spray"):
        # Each another program, which takes the place of the one before.
        said = as_nobody(ALL, functools.partial(put_scheme, scheme))
        assert f"datapath plan {kernel_scheme(scheme).programs[0]} on in" in said
    assert arrivals([frame(number) for number in range(1000, 1090)], "pin", ["pe1", "pe2"]).total() == 90
    assert as_nobody(ALL, taken_away) == "gone"
    assert strays([frame(1000)], "pin", ["pe1", "pe2"]) == 0


@with_own_datapaths
def test_the_doctor_blames_no_kernel_for_a_missing_privilege() -> None:
    def lacking() -> str:
        return json.dumps([asdict(finding) for finding in machine.examine() if not finding.ok])

    # What is imported on the way nobody may not be able to read.
    assert "this user lacks" not in lacking()
    said = {one["what"]: one for one in json.loads(as_nobody((), lacking))}
    assert "eBPF: kernel 6.6 or newer (TCX)" not in said
    for what in ("network namespaces", "shaping"):
        assert said[what]["found"] == "not tried: this user lacks CAP_SYS_ADMIN and CAP_NET_ADMIN"
    datapaths = said["eBPF: CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"]
    assert datapaths["found"] == "not tried: this user lacks CAP_BPF and CAP_NET_ADMIN and CAP_PERFMON"
    assert said["shaping"]["hint"] == datapaths["hint"] == "run anabranch doctor as root"


@pytest.mark.parametrize("lacking", ALL)
def test_each_of_them_is_needed_and_told(lacking: int) -> None:
    @with_own_datapaths
    def run() -> None:
        pairs("in", "e1", "e2")
        said = as_nobody(tuple(one for one in ALL if one != lacking), lambda: put_scheme("ecmp"))
        assert said.startswith(AnabranchError.__name__)
        assert HINT in said
        assert "\n" not in said
        assert len(said) < 500
        assert not Path("/sys/fs/bpf/anabranch").exists()

    run()
