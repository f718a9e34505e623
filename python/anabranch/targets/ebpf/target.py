"""Target `ebpf`: a plan as a program of the kernel's datapath, on devices of the network namespace this runs in."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from anabranch.errors import AnabranchError
from anabranch.netlink import kernel
from anabranch.netlink.connection import Connection
from anabranch.netlink.nexthop import Device
from anabranch.targets.ebpf import datapath as ebpf_datapath
from anabranch.targets.ebpf import listing as ebpf_listing
from anabranch.targets.ebpf import plan_file as ebpf_plan
from anabranch.targets.ebpf.datapath import Standing
from anabranch.targets.ebpf.desired import MISSING, Held, Wanted, refuse_errors, wanted
from anabranch.targets.ebpf.folder import own_folder
from anabranch.targets.ebpf.plan_file import EbpfPlan
from anabranch.targets.plan.options import Place
from anabranch.targets.plan.verification import Measured, Verified
from anabranch.targets.protocol import Outcome

T = TypeVar("T")
NONE = "no datapath of that name"
TURNS_OFF = 2.0
"""Packets that smooth turns are off by at most over any run: the ends of each of its halves are within one of the share
(Balinski and Young 1975)."""


def apply(plan: str, place: Place, *, dry_run: bool) -> Outcome:
    """Makes the kernel hold what the plan file says, all or nothing; with `dry_run`, only says what would change."""
    planned = read(plan, place)
    refuse_errors(planned)
    return put(planned, devices_now(), dry_run=dry_run)[0]


def put(
    planned: EbpfPlan, devices: Mapping[str, Device], *, dry_run: bool = False, left: Standing | None = None
) -> tuple[Outcome, Standing | None]:
    """The same for devices as they are; also what stands then.

    Args:
        planned: what shall be.
        devices: by name.
        dry_run: whether it is only said what would change.
        left: what stood after the last time, if nobody else may have changed it since.

    Raises:
        AnabranchError: as `apply`; somebody else has changed it.

    """
    with ebpf_datapath.locked(make=not dry_run):
        found = ebpf_datapath.standing(_folder(planned)) if left is None else left.again()
        held = None if found is None else found.held
        target = wanted(planned, devices, held)
        outcome = _outcome(planned, held, target, devices)
        if outcome.changes and not dry_run:
            found = ebpf_datapath.change(_folder(planned), found, target)
    return outcome, found


def remove(plan: str, place: Place, *, dry_run: bool) -> Outcome:
    """Takes away the plan's datapath, also what is left of one, and nothing else."""
    planned = read(plan, place)
    with ebpf_datapath.locked(make=not dry_run):
        left = Outcome([f"- what is left of datapath {planned.name}"], 1, [], NONE)
        try:
            found = ebpf_datapath.standing(_folder(planned))
            outcome = _outcome(planned, None if found is None else found.held, None, devices_now())
        except AnabranchError:
            if not ebpf_datapath.is_there(_folder(planned)):
                raise
            outcome = left
        else:
            if found is None and ebpf_datapath.is_there(_folder(planned)):
                outcome = left
        if not dry_run:
            ebpf_datapath.remove(_folder(planned))
    return outcome


def _folder(planned: EbpfPlan) -> Path:
    """Where the plan's datapath is."""
    return own_folder() / planned.name


def read(plan: str, place: Place) -> EbpfPlan:
    """The plan, on the devices and at the hook that the command line names before it.

    Raises:
        AnabranchError: as `ebpf_plan.read`; no device; options of another target.

    """
    place.refuse_others("ebpf")
    planned = ebpf_plan.read(plan)
    if place.hook and place.hook not in ebpf_plan.HOOKS:
        raise AnabranchError(f"hook: {place.hook}: unknown; use one of {', '.join(ebpf_plan.HOOKS)}")
    if place.devices:
        planned = replace(planned, devices=tuple(dict.fromkeys(place.devices)))
    planned = ebpf_plan.checked(replace(planned, hook=place.hook or planned.hook))
    if not planned.devices:
        raise AnabranchError(
            f"{planned.file}: switch.dev: missing; name the device whose packets these are, as in --dev eth0"
        )
    return planned


def verify(plan: str, place: Place, *, seconds: float, connections: int | None) -> Verified:
    """Compares the kernel with the plan, then measures the split by the counters of members for so long."""
    planned = read(plan, place)
    refuse_errors(planned)
    devices = devices_now()
    found = ebpf_datapath.standing(_folder(planned))
    held = None if found is None else found.held
    target = wanted(planned, devices, held)
    different = _lines(planned, held, target, devices)
    if found is None or different:
        return Verified(different, list(target.warnings), [], 0.0)
    datapath = found.datapath
    names = [one.name for one in found.held.groups]
    shares = dict(zip(names, datapath.shares(), strict=True))
    began, started = time.monotonic(), datapath.counters()
    reading_s = time.monotonic() - began
    time.sleep(seconds)
    again, ended = time.monotonic(), datapath.counters()
    took = time.monotonic() - began
    reading_s += time.monotonic() - again
    sent_by_name = {
        name: tuple(new[0] - old[0] for old, new in zip(*both, strict=True))
        for name, *both in zip(names, started, ended, strict=True)
    }
    now = ebpf_datapath.described(datapath)
    steady = now == held and wanted(planned, devices_now(), now).kernel_groups == target.kernel_groups
    groups = []
    for one in target.groups:
        name = one.planned.name
        sent = sent_by_name[name]
        unit = planned.kernel.unit
        measured = Measured(
            name=name,
            recipe=f"{planned.scheme} ({target.scheme})",
            ports=one.planned.members,
            up=one.up,
            asked=one.asked,
            planned=tuple(shares[name]),
            packets=sent,
            error_pct=one.planned.error_pct,
            # Sprayed packets are drawn independently, as connections are elsewhere.
            connections=max(1, sum(sent)) if unit == "packet" else connections,
            unsteady=not steady,
        )
        if unit == "turn":
            counters = (os.cpu_count() or 1) if target.scheme == "cycle" else connections
            # One counter is read after the other, and packets pass meanwhile.
            passing = sum(sent) * reading_s / took
            measured = replace(measured, within=None if counters is None else TURNS_OFF * counters + passing)
        groups.append(measured)
    return Verified([], list(target.warnings), groups, took)


def devices_now() -> dict[str, Device]:
    """All devices of the namespace, by name."""
    with Connection() as connection:
        return {device.name: device for device in kernel.devices(connection)}


def _outcome(planned: EbpfPlan, held: Held | None, target: Wanted | None, devices: Mapping[str, Device]) -> Outcome:
    lines = _lines(planned, held, target, devices)
    changes = sum(not line.startswith("~-") for line in lines)
    if target is None:
        return Outcome(lines, changes, [], NONE)
    routes = sum(len(one.planned.prefixes) for one in target.groups)
    on = ", ".join(planned.devices)
    summary = (
        f"datapath {planned.name} {target.scheme} on {on} {planned.hook}, {len(target.groups)} groups, "
        f"{f'{routes} routes' if routes else ebpf_listing.ALL_IP}"
    )
    return Outcome(lines, changes, list(target.warnings), summary)


def _lines(planned: EbpfPlan, held: Held | None, target: Wanted | None, devices: Mapping[str, Device]) -> list[str]:
    names = {one.index: one.name for one in devices.values()}
    for one in target.groups if target is not None else ():
        for name, number in zip(one.planned.ports, one.kernel.targets, strict=False):
            names.setdefault(number, name if number != MISSING else "a missing device")
    return ebpf_listing.lines(planned.name, held, target, names)
