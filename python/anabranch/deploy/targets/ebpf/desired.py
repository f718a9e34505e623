"""The desired datapath for a plan, given the observed one and the devices that live."""

from __future__ import annotations

import math
import socket
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from anabranch._core import KernelGroup, kernel_shares
from anabranch.deploy.netlink.link_state import lives, unusable
from anabranch.deploy.netlink.nexthop import Device, Hop
from anabranch.deploy.targets.ebpf.datapath import DatapathState
from anabranch.deploy.targets.ebpf.plan_file import ROUTE, EbpfPlan, WeightedMembers
from anabranch.deploy.targets.ebpf.scheme import PLAIN
from anabranch.deploy.targets.plan.group import group
from anabranch.deploy.targets.plan.group_keys import refuse_error
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.split.stats.mape import mape

WEIGHT_MAX = 2**32 - 1
MISSING = 0
"""Number of a device that was never there; the kernel's begin at 1."""
GROUPS_LEAST, ROUTES_LEAST = 8, 16
"""A datapath has room for more than its plan needs now, for another capacity is another datapath."""


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
        kernel = self.kernel
        return _error_pct(program, self.asked, tuple(kernel.weights), tuple(kernel.up), kernel.plain)


@dataclass(frozen=True)
class Desired:
    """A plan as it is to stand in a kernel."""

    scheme: str
    group_capacity: int
    route_capacity: int
    groups: tuple[Installed, ...]
    attached: tuple[tuple[int, str], ...]
    warnings: tuple[str, ...]

    @property
    def kernel_groups(self) -> list[KernelGroup]:
        """The groups that the datapath is given."""
        return [one.kernel for one in self.groups]


def desired(
    plan: EbpfPlan,
    devices: Mapping[str, Device],
    observed: DatapathState | None,
    silent: frozenset[Hop] = frozenset(),
) -> Desired:
    """The desired datapath.

    Members whose device is missing, down or without a carrier, or whose gateway is silent, are masked, and devices that
    are missing are not attached to: they are when the plan is applied once they are there. A scheme that has several
    programs keeps the one that is observed as long as its split is near enough, for another one moves most connections.

    Raises:
        AnabranchError: weights beyond 32 bits.

    """
    warnings: list[str] = []
    observed_groups = {one.name: one for one in observed.groups} if observed is not None else {}
    groups = []
    for planned in plan.groups:
        before = observed_groups.get(planned.name)
        linked = tuple(name in devices and lives(devices[name]) for name in planned.ports)
        quiet = tuple(hop in silent for hop in planned.hops) or (False,) * len(linked)
        up = tuple(one and not mute for one, mute in zip(linked, quiet, strict=True)) or (True,) * len(planned.values)
        seed = planned.seed
        if seed is None:
            seed = _first_seed(plan.name, planned.name) if before is None else before.seed
        targets = planned.values or _numbers(planned, devices, before)
        kernel = _kernel_group(plan, planned, targets, up, seed)
        groups.append(Installed(planned, kernel, up, _asked(planned, up)))
        if not all(up):
            dead = unusable({name: name for name, one in zip(planned.ports, linked, strict=True) if not one}, devices)
            mute = ", ".join(
                str(hop) for hop, one, mute in zip(planned.hops, linked, quiet, strict=False) if one and mute
            )
            why = [dead] if dead else []
            why += [f"without an answer: {mute}"] if mute else []
            warnings.append(f"group {planned.name}: masked {' and '.join(why)}; {_left(groups[-1])}")
    program = _program(plan, groups, observed)
    for one in groups:
        error = one.error_pct(program)
        if error > one.planned.error_pct:
            warnings.append(
                f"group {one.planned.name}: {program} is {error:.3g} % off (MAPE), over {one.planned.error_pct:g} %"
            )
    routes = sum(len(planned.prefixes) for planned in plan.groups)
    warnings += [
        f"switch.dev: {name}: no such device; {nearest(name, devices)}; its packets are not met until it is there and "
        "the plan is applied again"
        for name in plan.devices
        if name not in devices
    ]
    attached = tuple((devices[name].index, plan.hook) for name in plan.devices if name in devices)
    return Desired(
        program,
        _capacity(len(groups), GROUPS_LEAST) if routes else 1,
        _capacity(routes, ROUTES_LEAST) if routes else 0,
        tuple(groups),
        attached,
        tuple(warnings),
    )


def refuse_errors(plan: EbpfPlan) -> None:
    """Refuses what no program can split as the plan says, all paths being up; a dead one does not make it wrong.

    Raises:
        AnabranchError: names the group, its bound and how far off its split is.

    """
    groups = []
    for planned in plan.groups:
        alive, targets = (True,) * len(planned.members), planned.values or tuple(range(1, len(planned.ports) + 1))
        kernel = _kernel_group(plan, planned, targets, alive, 0)
        groups.append(Installed(planned, kernel, alive, _asked(planned, alive)))
    program = _program(plan, groups, None)
    for one in groups:
        refuse_error(plan.file, "ebpf", one.planned, program, one.error_pct(program))


def refuse_absent(plan: EbpfPlan, devices: Mapping[str, Device]) -> None:
    """Refuses a plan that names no device whose packets are split, and a group none of whose devices is there.

    A device that is missing is masked; then nothing would be left.

    Raises:
        AnabranchError: names the group and its devices.

    """
    if not plan.devices:
        raise AnabranchError(
            f"{plan.file}: switch.dev: missing; name the device whose packets these are, as in --dev eth0"
        )
    for planned in plan.groups:
        if planned.carrying and not any(name in devices for name in planned.carrying):
            names = unusable({name: name for name in planned.carrying}, devices)
            raise AnabranchError(f"{plan.file}: group {planned.name}: ports: {names}; make one first")


def refuse_unforwarded(plan: EbpfPlan, devices: Mapping[str, Device]) -> None:
    """Refuses to route where the kernel forwards nothing: it would drop what the plan sends.

    Raises:
        AnabranchError: names the device and the setting.

    """
    for problem in not_forwarded(plan, devices):
        raise AnabranchError(f"{plan.file}: switch.dev: {problem}")


def not_forwarded(plan: EbpfPlan, devices: Mapping[str, Device]) -> Iterator[str]:
    """Devices of a plan from which the kernel does not forward what the plan routes, in words."""
    routing = [one for one in plan.groups if one.output == ROUTE]
    versions = {version for one in routing for version in {prefix.version for prefix in one.prefixes} or {4, 6}}
    return unforwarded([name for name in plan.devices if name in devices], versions)


def unforwarded(devices: Iterable[str], versions: Collection[int]) -> Iterator[str]:
    """Devices of the thread's namespace from which the kernel forwards no packets of an IP version, with the mend."""
    for name in devices:
        for version in sorted(versions):
            setting = Path(f"/proc/sys/net/ipv{version}/conf/{name}/forwarding")
            if not (setting.exists() and setting.read_text().strip() == "1"):
                key = f"net.ipv{version}.conf.{name}.forwarding"
                problem = f"{name}: the kernel forwards no IPv{version} from there ({key})"
                yield f"{problem}; allow it with `sysctl -w {key}=1`"


def _numbers(planned: WeightedMembers, devices: Mapping[str, Device], before: KernelGroup | None) -> tuple[int, ...]:
    """The number of each member's device; of one that is missing, that which it had, if it is known.

    A masked member is never chosen, so its number is only compared.
    """
    known = list(before.targets) if before is not None and len(before.targets) == len(planned.ports) else []
    known = known or [MISSING] * len(planned.ports)
    return tuple(
        devices[name].index if name in devices else old for name, old in zip(planned.ports, known, strict=True)
    )


def _kernel_group(
    plan: EbpfPlan, planned: WeightedMembers, targets: Sequence[int], up: Sequence[bool], seed: int
) -> KernelGroup:
    return KernelGroup(
        planned.name,
        [str(prefix) for prefix in planned.prefixes],
        list(targets),
        _integers(plan, planned),
        list(up),
        planned.output,
        seed,
        round(1e9 * planned.pause_s),
        plain=plan.scheme == PLAIN,
        gateways=planned.gateways,
    )


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
    living = group(planned.weights, [path for path, one in enumerate(up, 1) if not one])
    return tuple(float(share) for share in living.asked)


def _left(one: Installed) -> str:
    if not any(one.asked):
        fate = "left to the kernel's own routes" if one.planned.output == ROUTE else "dropped"
        return f"none lives that should carry some: its packets are {fate}"
    shares = zip(one.planned.members, one.asked, strict=True)
    return "in force are " + ", ".join(f"{name} {100 * share:.4g} %" for name, share in shares if share)


def _program(plan: EbpfPlan, groups: Sequence[Installed], observed: DatapathState | None) -> str:
    names = plan.kernel.programs
    first = [observed.scheme] if observed is not None and observed.scheme in names else []
    for name in [*first, *names]:
        if all(one.error_pct(name) <= one.planned.error_pct for one in groups):
            return name
    return names[-1]


# In a fabric many groups have the same weights.
@lru_cache(maxsize=1 << 12)
def _error_pct(
    program: str, asked: tuple[float, ...], weights: tuple[int, ...], up: tuple[bool, ...], plain: bool
) -> float:
    """The error of a program's split, which depends on neither names nor seeds."""
    if not any(asked):
        return 0.0
    targets = list(range(1, 1 + len(weights)))
    alike = KernelGroup("alike", [], targets, list(weights), list(up), "redirect", 0, 0, plain=plain)
    return mape(asked, kernel_shares(program, alike))


def _capacity(needed: int, least: int) -> int:
    return max(least, 1 << (needed - 1).bit_length())


def _first_seed(name: str, group_name: str) -> int:
    """Seed of a group whose plan gives none: of names that a reboot keeps, so that it moves no connection."""
    file = Path("/etc/machine-id")
    machine = file.read_text().strip() if file.exists() else ""
    return zlib.crc32(f"{machine or socket.gethostname()} {name} {group_name}".encode())
