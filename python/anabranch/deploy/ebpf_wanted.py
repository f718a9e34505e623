"""What a kernel's datapath must hold for a plan, given what it holds and which devices live."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch import AnabranchError
from anabranch._core import KernelGroup, kernel_shares
from anabranch.deploy.ebpf_folder import own_namespace
from anabranch.deploy.ebpf_plan import EbpfPlan, WeightedMembers
from anabranch.deploy.ebpf_scheme import PLAIN
from anabranch.netlink.nexthop import Device
from anabranch.split.request import nearest
from anabranch.stats.mape import mape
from anabranch.targets.group import group

WEIGHT_MAX = 2**32 - 1
GROUPS_LEAST, ROUTES_LEAST = 8, 16
"""A datapath has room for more than its plan needs now, for another capacity is another datapath."""


@dataclass(frozen=True)
class Held:
    """A datapath as it is."""

    scheme: str
    """The program's name."""
    group_capacity: int
    route_capacity: int
    """0 where the only group takes all IP."""
    groups: tuple[KernelGroup, ...]
    attached: frozenset[tuple[int, str]]
    """Number of the device and hook, of those that there still are."""


@dataclass(frozen=True)
class Installed:
    """One group of a plan as it is to stand."""

    planned: WeightedMembers
    kernel: KernelGroup
    up: tuple[bool, ...]
    asked: tuple[float, ...]
    """Share of each member by the weights, the dead none; all none if none lives."""

    def error_pct(self, program: str) -> float:
        """Mean absolute error (VALO Eq. 1) of the split that a program makes of it."""
        return mape(self.asked, kernel_shares(program, self.kernel)) if any(self.asked) else 0.0


@dataclass(frozen=True)
class Wanted:
    """A plan as it is to stand in a kernel."""

    scheme: str
    group_capacity: int
    route_capacity: int
    groups: tuple[Installed, ...]
    attached: tuple[tuple[int, str], ...]
    warnings: tuple[str, ...]

    @property
    def kernel_groups(self) -> list[KernelGroup]:
        """What the datapath is given."""
        return [one.kernel for one in self.groups]


def wanted(plan: EbpfPlan, devices: Mapping[str, Device], held: Held | None) -> Wanted:
    """What must stand there.

    Members whose device is down or without a carrier are masked. A scheme that has several programs keeps the one that
    is held as long as its split is near enough, for another one moves most connections.

    Raises:
        AnabranchError: a device that there is not.

    """
    warnings: list[str] = []
    seeds = {one.name: one.seed for one in held.groups} if held is not None else {}
    found = []
    for planned in plan.groups:
        up = _lives(plan, planned, devices)
        integers = _integers(plan, planned)
        seed = planned.seed if planned.seed is not None else seeds.get(planned.name, _first_seed(plan.name))
        targets = planned.values or tuple(devices[name].index for name in planned.ports)
        kernel = KernelGroup(
            planned.name,
            [str(prefix) for prefix in planned.prefixes],
            list(targets),
            integers,
            list(up),
            planned.output,
            seed,
            round(1e9 * planned.pause_s),
            plain=plan.scheme == PLAIN,
        )
        found.append(Installed(planned, kernel, up, _asked(planned, up)))
        if not all(up):
            dead = ", ".join(name for name, one in zip(planned.members, up, strict=True) if not one)
            warnings.append(f"group {planned.name}: masked without a carrier: {dead}; {_left(found[-1])}")
    program = _program(plan, found, held)
    for one in found:
        error = one.error_pct(program)
        if error > one.planned.error_pct:
            warnings.append(
                f"group {one.planned.name}: {program} is {error:.3g} % off (MAPE), over {one.planned.error_pct:g} %"
            )
    routes = sum(len(planned.prefixes) for planned in plan.groups)
    attached = tuple((_device(plan, "switch.dev", name, devices).index, plan.hook) for name in plan.devices)
    return Wanted(
        program,
        _capacity(len(found), GROUPS_LEAST) if routes else 1,
        _capacity(routes, ROUTES_LEAST) if routes else 0,
        tuple(found),
        attached,
        tuple(warnings),
    )


def lives(device: Device) -> bool:
    """Whether packets that are sent there have a chance to arrive."""
    return device.up and device.carrier


def _lives(plan: EbpfPlan, planned: WeightedMembers, devices: Mapping[str, Device]) -> tuple[bool, ...]:
    if planned.values:
        return (True,) * len(planned.values)
    where = f"group {planned.name}: ports"
    return tuple(lives(_device(plan, where, name, devices)) for name in planned.ports)


def _device(plan: EbpfPlan, where: str, name: str, devices: Mapping[str, Device]) -> Device:
    if name not in devices:
        raise AnabranchError(f"{plan.file}: {where}: {name}: no such device; {nearest(name, devices)}")
    return devices[name]


def _integers(plan: EbpfPlan, planned: WeightedMembers) -> list[int]:
    """The weights as the least whole numbers in their ratio."""
    whole = group(planned.weights).integers
    divisor = math.gcd(*whole)
    if max(whole) // divisor > WEIGHT_MAX:
        problem = f"over the {WEIGHT_MAX} of 32 bits; round them"
        raise AnabranchError(f"{plan.file}: group {planned.name}: weights: {max(whole) // divisor}: {problem}")
    return [weight // divisor for weight in whole]


def _asked(planned: WeightedMembers, up: Sequence[bool]) -> tuple[float, ...]:
    integers = group(planned.weights).integers
    if not any(one and weight for one, weight in zip(up, integers, strict=True)):
        return (0.0,) * len(up)
    living = group(planned.weights, [place for place, one in enumerate(up, 1) if not one])
    return tuple(float(share) for share in living.asked)


def _left(one: Installed) -> str:
    if not any(one.asked):
        return "none lives that should carry some: its packets are dropped"
    shares = zip(one.planned.members, one.asked, strict=True)
    return "in force are " + ", ".join(f"{name} {100 * share:.4g} %" for name, share in shares if share)


def _program(plan: EbpfPlan, groups: Sequence[Installed], held: Held | None) -> str:
    names = plan.kernel.programs
    first = [held.scheme] if held is not None and held.scheme in names else []
    for name in [*first, *names]:
        if all(one.error_pct(name) <= one.planned.error_pct for one in groups):
            return name
    return names[-1]


def _capacity(needed: int, least: int) -> int:
    return max(least, 1 << (needed - 1).bit_length())


def _first_seed(name: str) -> int:
    """Of a datapath whose plan gives none: another one in each machine and namespace, the same at every start."""
    file = Path("/etc/machine-id")
    machine = file.read_text().strip() if file.exists() else ""
    return zlib.crc32(f"{machine} {own_namespace()} {name}".encode())
