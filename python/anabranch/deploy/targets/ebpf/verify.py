"""The split of a datapath, measured by the counters of its members."""

from __future__ import annotations

import os
import time
from dataclasses import replace

from anabranch.deploy.targets.ebpf import datapath
from anabranch.deploy.targets.ebpf.desired import Desired, desired
from anabranch.deploy.targets.ebpf.observe import Observed, devices_and_silent_hops
from anabranch.deploy.targets.ebpf.plan_file import EbpfPlan
from anabranch.deploy.targets.plan.verification import Measured

TURNS_OFF = 2.0
"""Packets that smooth turns are off by at most over any run: the ends of each of its halves are within one of the share
(Balinski and Young 1975)."""


def verify(
    plan: EbpfPlan, before: Observed, aimed: Desired, seconds: float, connections: int | None
) -> tuple[list[Measured], list[str], float]:
    """Packets by group and member over so many seconds."""
    opened = before.datapath
    if opened is None:
        return [], [], 0.0
    counted = opened.datapath
    names = [one.name for one in opened.state.groups]
    shares = dict(zip(names, counted.shares(), strict=True))
    began, started = time.monotonic(), counted.counters()
    reading_s = time.monotonic() - began
    time.sleep(seconds)
    again, ended = time.monotonic(), counted.counters()
    took = time.monotonic() - began
    reading_s += time.monotonic() - again
    sent_by_name = {
        name: tuple(new[0] - old[0] for old, new in zip(*both, strict=True))
        for name, *both in zip(names, started, ended, strict=True)
    }
    now = datapath.described(opened.datapath)
    devices, silent = devices_and_silent_hops(plan)
    steady = now == opened.state and desired(plan, devices, now, silent).kernel_groups == aimed.kernel_groups
    groups = []
    for one in aimed.groups:
        name = one.planned.name
        sent = sent_by_name[name]
        unit = plan.kernel.unit
        measured = Measured(
            name=name,
            recipe=f"{plan.scheme} ({aimed.scheme})",
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
            counters = (os.cpu_count() or 1) if aimed.scheme == "cycle" else connections
            # One counter is read after the other, and packets pass meanwhile.
            passing = sum(sent) * reading_s / took
            measured = replace(measured, within=None if counters is None else TURNS_OFF * counters + passing)
        groups.append(measured)
    return groups, [], took
