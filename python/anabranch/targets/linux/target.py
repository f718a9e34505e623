"""Target `linux`: a plan in the kernel of the network namespace this runs in, as nexthop groups and routes to them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from anabranch.errors import AnabranchError
from anabranch.netlink import kernel
from anabranch.netlink.connection import Connection, KernelRefusedError
from anabranch.netlink.lookup import look_up
from anabranch.netlink.nexthop import Device, Nexthop, NexthopGroup, Prefix, Way
from anabranch.stats.mape import mape_floor
from anabranch.targets.linux import plan_file as linux_plan
from anabranch.targets.linux import state as linux_state
from anabranch.targets.linux.desired import Installed, Wanted, wanted
from anabranch.targets.linux.state import State, Step
from anabranch.targets.plan.options import Place
from anabranch.targets.plan.verification import Measured, Verified
from anabranch.targets.protocol import Outcome

LOOK_UPS_MIN, LOOK_UPS_MAX = 20_000, 200_000
CHANCE_PCT = 2.0
SEED = 171
TCP = 6


def apply(plan: str, place: Place, *, dry_run: bool) -> Outcome:
    """Makes the kernel hold what the plan file says, all or nothing; with `dry_run`, only says what would change."""
    place.refuse_others("linux")
    planned = linux_plan.read(plan)
    with Connection() as connection:
        devices = _devices(connection)
        held = linux_state.read(connection, planned.owner, list(devices.values()))
        target = wanted(planned, held, devices, kernel.weight_max(connection))
        return _change(
            connection, planned.owner, held, target.state, devices, [*target.warnings, *_policy(target)], dry_run
        )


def remove(plan: str, place: Place, *, dry_run: bool) -> Outcome:
    """Takes away all that is the plan's owner's, and nothing else."""
    place.refuse_others("linux")
    owner = linux_plan.read(plan).owner
    with Connection() as connection:
        devices = _devices(connection)
        held = linux_state.read(connection, owner, list(devices.values()))
        return _change(connection, owner, held, State(), devices, [], dry_run)


def verify(plan: str, place: Place, *, seconds: float, connections: int | None) -> Verified:
    """Compares the kernel with the plan, then asks it which way it would send connections.

    No packet is needed, and no time but that of the questions: `seconds` counts for nothing.
    """
    del seconds
    place.refuse_others("linux")
    planned = linux_plan.read(plan)
    began = time.monotonic()
    with Connection() as connection:
        devices = _devices(connection)
        held = linux_state.read(connection, planned.owner, list(devices.values()))
        target = wanted(planned, held, devices, kernel.weight_max(connection))
        warnings = [*target.warnings, *_policy(target)]
        changes = linux_state.steps(held, target.state)
        if changes:
            return Verified(linux_state.lines(changes, held, target.state), warnings, [], 0.0)
        groups = []
        for group in target.groups:
            warnings += _unsettled(connection, group, target.state.groups[group.group_id])
            count = connections or _enough(group.recipe.achieved)
            measured = _measured(connection, group, devices, count)
            groups.append(measured)
            if elsewhere := count - measured.total:
                warnings.append(
                    f"group {group.planned.name}: {elsewhere:,} look-ups go another way: longer prefixes, rules of "
                    "routing or addresses of this machine take them"
                )
    return Verified([], warnings, groups, time.monotonic() - began)


def _change(
    connection: Connection,
    owner: int,
    held: State,
    target: State,
    devices: Mapping[str, Device],
    warnings: list[str],
    dry_run: bool,
) -> Outcome:
    changes = linux_state.steps(held, target)
    _refuse_harm(connection, changes, held)
    if changes and not dry_run:
        _take(connection, owner, changes, held, devices)
    summary = f"{len(target.nexthops)} nexthops, {len(target.groups)} groups, {len(target.routes)} routes"
    return Outcome(linux_state.lines(changes, held, target), len(changes), warnings, summary)


def _take(connection: Connection, owner: int, changes: list[Step], held: State, devices: Mapping[str, Device]) -> None:
    """Takes the steps, or none of them: rtnetlink has no transactions, so what was taken is taken back."""
    step = changes[0]
    try:
        for step in changes:
            linux_state.take(connection, step, devices)
    except KernelRefusedError as refused:
        now = linux_state.read(connection, owner, list(devices.values()))
        for back in linux_state.steps(now, held):
            linux_state.take(connection, back, devices)
        raise AnabranchError(_blamed(step, refused)) from None


def _refuse_harm(connection: Connection, changes: list[Step], held: State) -> None:
    """With a group the kernel removes the routes to it, and a nexthop leaves its groups: also somebody else's."""
    gone = {step.old.group_id for step in changes if step.new is None and isinstance(step.old, NexthopGroup)}
    singles = {step.old.nexthop_id for step in changes if step.new is None and isinstance(step.old, Nexthop)}
    if gone:
        for route in kernel.routes(connection):
            if route.nexthop_id in gone and held.routes.get(route.key) != route:
                raise AnabranchError(
                    f"group {route.nexthop_id:#x}: somebody else's route {route} uses it; remove that first"
                )
    if singles:
        for group in kernel.nexthops(connection, kernel.devices(connection))[1]:
            if group.group_id not in held.groups and (used := singles & set(dict(group.members))):
                raise AnabranchError(
                    f"nexthop {min(used):#x}: somebody else's group {group.group_id} has it; remove that first"
                )


def _blamed(step: Step, refused: KernelRefusedError) -> str:
    (line, *_) = linux_state.lines([step], State(), State())
    mend = "nothing is changed"
    if "EEXIST" in str(refused):
        mend = "somebody else's route has that prefix, table and metric; give another metric; nothing is changed"
    return f"{line}: {refused}; {mend}"


def _devices(connection: Connection) -> dict[str, Device]:
    return {device.name: device for device in kernel.devices(connection)}


def _policy(target: Wanted) -> list[str]:
    """What the kernel hashes decides how connections between two hosts spread; it is the operator's to set."""
    found = []
    for version in sorted({prefix.version for group in target.groups for prefix in group.planned.prefixes}):
        name = f"net.ipv{version}.fib_multipath_hash_policy"
        file = Path("/proc/sys", *name.split("."))
        policy = file.read_text().strip() if file.exists() else ""
        if policy in ("0", "2"):
            found.append(
                f"{name}={policy}: ports are not hashed, all connections between two hosts take one path; "
                f"sysctl -w {name}=1 hashes them"
            )
    return found


def _unsettled(connection: Connection, group: Installed, wanted_group: NexthopGroup) -> list[str]:
    """A resilient group's buckets that are not yet whose they should be: they change hands when they rest."""
    if wanted_group.resilience is None:
        return []
    held = Counter(kernel.buckets(connection, group.group_id))
    due = [round(share * group.recipe.used) for share in group.recipe.achieved if share]
    has = [held[member] for member, _ in wanted_group.members]
    late = sum(abs(one - other) for one, other in zip(due, has, strict=True)) // 2
    if not late:
        return []
    return [
        f"group {group.planned.name}: {late} of {group.recipe.used} buckets wait for their new path: they change when "
        "no packet came for the idle timer; an unbalanced_timer would force them"
    ]


def _enough(shares: Sequence[float]) -> int:
    """Look-ups that chance alone puts off by `CHANCE_PCT`, as far as one wants to wait: the error falls as 1/sqrt."""
    floor_pct = mape_floor(shares, LOOK_UPS_MIN)
    return min(LOOK_UPS_MAX, max(LOOK_UPS_MIN, round(LOOK_UPS_MIN * (floor_pct / CHANCE_PCT) ** 2)))


def _measured(connection: Connection, group: Installed, devices: Mapping[str, Device], count: int) -> Measured:
    """Look-ups of random connections to the group's destinations."""
    planned = group.planned
    random = np.random.Generator(np.random.PCG64(SEED))
    destinations = _addresses(planned.prefixes, count, random)
    ports = random.integers(1024, 65536, (2, count)).astype(np.uint16)
    taken = Counter(look_up(connection, TCP, destinations, ports[0], ports[1]))
    numbers = {device.index: device.name for device in devices.values()}
    by_way: Counter[tuple[str, object]] = Counter()
    for (device, gateway), hits in taken.items():
        by_way[numbers.get(device, str(device)), gateway] += hits
    return Measured(
        name=planned.name,
        recipe=group.recipe.name,
        ports=tuple(str(way) for way in planned.ways),
        up=group.up,
        asked=group.asked,
        planned=tuple(group.recipe.achieved),
        packets=tuple(by_way[_key(way)] for way in planned.ways),
        error_pct=planned.error_pct,
        connections=count,
        counted="look-ups",
    )


def _key(way: Way) -> tuple[str, object]:
    return way.device, way.gateway


def _addresses(prefixes: tuple[Prefix, ...], count: int, random: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Random addresses of the prefixes in turn, shape (count, 4 or 16)."""
    size = prefixes[0].max_prefixlen // 8
    rows = random.integers(0, 256, (count, size)).astype(np.uint8)
    for place, prefix in enumerate(prefixes):
        mask = np.frombuffer(prefix.netmask.packed, np.uint8)
        network = np.frombuffer(prefix.network_address.packed, np.uint8)
        rows[place :: len(prefixes)] = (rows[place :: len(prefixes)] & ~mask) | network
    return rows
