"""Target `ovs`: a plan in a bridge of Open vSwitch, changed over OpenFlow in one atomic bundle."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from anabranch.errors import AnabranchError
from anabranch.hints import nearest
from anabranch.openflow.connection import Connection, connect
from anabranch.openflow.modification import FlowMod, GroupMod, MeterMod
from anabranch.openflow.reference import groups_of_flow, groups_of_group, meters_of_flow, meters_of_group
from anabranch.openflow.tables import Flow, Group, Tables
from anabranch.openflow.tls import Tls
from anabranch.stats.mape import mape
from anabranch.targets.ovs import database, listing, plan_file
from anabranch.targets.ovs import desired as rules
from anabranch.targets.ovs.difference import Difference, difference
from anabranch.targets.ovs.plan_file import PlanFile
from anabranch.targets.ovs.split import path_group
from anabranch.targets.ovs.tables_walk import Predicted, Ways
from anabranch.targets.plan.options import RUN_FOLDER, Place
from anabranch.targets.plan.verification import Measured, Verified
from anabranch.targets.protocol import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

T = TypeVar("T")
BRIDGE = "br0"
UNNUMBERED = 1 << 16
"""Numbers from here on stand for ports of a bridge that nobody asked."""
TAKE_ANOTHER = "give the group another priority"


@dataclass(frozen=True)
class Bridge:
    """All that a bridge said of itself."""

    datapath_id: int
    ports: dict[str, int]
    up: dict[int, bool]
    flows: list[Flow]
    groups: list[Group]
    own: Tables
    """Of the plan's owner."""

    @property
    def names(self) -> dict[int, str]:
        """Of ports."""
        return {number: name for name, number in self.ports.items()}


def apply(plan: str, place: Place, *, dry_run: bool) -> Outcome:
    """Makes the bridge hold what the plan file says, all or nothing; with `dry_run`, only says what would change."""
    wanted_plan = plan_file.read(plan)

    async def run(connection: Connection) -> Outcome:
        bridge = await _read(connection, wanted_plan)
        wanted = rules.wanted(wanted_plan, bridge.ports, bridge.own, bridge.datapath_id)
        change = difference(bridge.own, wanted.tables)
        _refuse_harm(change, bridge)
        if change and not dry_run:
            await connection.commit(change.mods)
        return Outcome(change.lines(bridge.names), len(change.mods), _warnings(wanted, bridge), _summary(wanted.tables))

    return _with_bridge(wanted_plan, place, run)


def remove(plan: str, place: Place, *, dry_run: bool) -> Outcome:
    """Takes away all that is the plan's owner's, and nothing else."""
    ending = plan_file.read(plan)

    async def run(connection: Connection) -> Outcome:
        bridge = await _read(connection, ending)
        change = difference(bridge.own, Tables())
        _refuse_harm(change, bridge)
        if change and not dry_run:
            await connection.commit(change.mods)
        return Outcome(change.lines(bridge.names), len(change.mods), [], _summary(Tables()))

    return _with_bridge(ending, place, run)


def explain(plan: str, place: Place, tuples: npt.NDArray[np.void], in_port: str | None) -> list[Predicted]:
    """The way of each connection once the plan is applied: by the bridge, if `place` names one, or a fresh one.

    Args:
        plan: file name.
        place: left empty for a bridge without history whose ports are all up.
        tuples: dtype `FIVE_TUPLE`.
        in_port: name of the port that packets come in by, if it matters.

    Raises:
        AnabranchError: a rule asks for the port and there is none, or the plan leaves the seed to the bridge.

    """
    planned = plan_file.read(plan)

    async def run(connection: Connection) -> list[Predicted]:
        bridge = await _read(connection, planned)
        return _predicted(planned, bridge, tuples, in_port)

    if place != Place():
        return _with_bridge(planned, place, run)
    unseeded = [group for group in planned.groups if group.seed is None and group.recipe != "failover"]
    if unseeded:
        planned.refuse(unseeded[0], "seed", "missing, and the bridge has it; give --bridge, or a seed in the plan")
    named = [port for group in planned.groups for port in planned.port_names(group)]
    ports = {name: UNNUMBERED + place_ for place_, name in enumerate(dict.fromkeys(named))}
    numbers = {port for group in planned.groups for port in group.ports if isinstance(port, int)} | {*ports.values()}
    fresh = Bridge(0, ports, dict.fromkeys(numbers, True), [], [], Tables())
    return _predicted(planned, fresh, tuples, in_port)


def _predicted(plan: PlanFile, bridge: Bridge, tuples: npt.NDArray[np.void], in_port: str | None) -> list[Predicted]:
    if in_port is not None and in_port not in bridge.ports:
        raise AnabranchError(f"in-port: {in_port}: no port there; {nearest(in_port, bridge.ports)}")
    tables = rules.wanted(plan, bridge.ports, bridge.own, bridge.datapath_id).tables
    ways = Ways(tables, plan.territory.table, bridge.up, bridge.names)
    return ways.predict(tuples, None if in_port is None else bridge.ports[in_port])


def verify(plan: str, place: Place, *, seconds: float, connections: int | None) -> Verified:
    """Compares the bridge with the plan, then measures the split by the counters of buckets for so long."""
    planned = plan_file.read(plan)

    async def run(connection: Connection) -> Verified:
        before = await _read(connection, planned)
        wanted = rules.wanted(planned, before.ports, before.own, before.datapath_id)
        change = difference(before.own, wanted.tables)
        warnings = _warnings(wanted, before)
        if change:
            return Verified(change.lines(before.names), warnings, [], 0.0)
        started = await _packets(connection)
        await asyncio.sleep(seconds)
        ended = await _packets(connection)
        after = await _read(connection, planned)
        steady = (after.own, after.up) == (before.own, before.up)
        sent = {key: count - started.get(key, 0) for key, count in ended.items()}
        groups = [_measured(planned, group, before, sent, connections, steady) for group in wanted.groups]
        return Verified([], warnings, groups, seconds)

    return _with_bridge(planned, place, run)


def _with_bridge(plan: PlanFile, place: Place, run: Callable[[Connection], Coroutine[None, None, T]]) -> T:
    """Runs something on a connection to the plan's bridge."""
    place.refuse_others("ovs")

    async def connected() -> T:
        async with _connection(plan, place) as connection:
            return await run(connection)

    return asyncio.run(connected())


@asynccontextmanager
async def _connection(plan: PlanFile, place: Place) -> AsyncIterator[Connection]:
    tls = None if place.tls_files is None else Tls(*place.tls_files)
    connection = await connect(address(plan, place), tls)
    try:
        yield connection
    finally:
        connection.close()


def address(plan: PlanFile, place: Place) -> str:
    """Where the bridge speaks OpenFlow: as said, as its database says, or the system's own socket.

    Raises:
        AnabranchError: the database has no such bridge, or the bridge lets nobody in.

    """
    bridge = place.bridge or plan.bridge or BRIDGE
    openflow, ovsdb = place.openflow or plan.openflow, place.ovsdb or plan.ovsdb
    if ovsdb and not place.openflow:
        row = database.ask(ovsdb, bridge, place.tls_files)
        return openflow or database.openflow_address(ovsdb, row)
    socket = RUN_FOLDER / f"{bridge}.mgmt"
    if not openflow and not socket.exists():
        others = ", ".join(sorted(file.stem for file in RUN_FOLDER.glob("*.mgmt")))
        mend = f"there are: {others}" if others else "start Open vSwitch, or give --openflow or --ovsdb"
        raise AnabranchError(f"bridge: {bridge}: not on this machine; {mend}")
    return openflow or f"unix:{socket}"


async def _read(connection: Connection, plan: PlanFile) -> Bridge:
    described = await connection.described_ports()
    flows, groups, meters = await connection.flows(), await connection.groups(), await connection.meters()
    return Bridge(
        connection.datapath_id,
        {port.name: port.number for port in described},
        {port.number: port.link_up for port in described},
        flows,
        groups,
        plan.territory.own(flows, groups, meters),
    )


def _refuse_harm(change: Difference, bridge: Bridge) -> None:
    """What would take away something of the operator's: his rule's place, or a group or meter that he uses."""
    theirs = [flow for flow in bridge.flows if flow not in bridge.own.flows]
    by_key = {flow.key: flow for flow in theirs}
    groups = {mod.group.group_id for mod in change.mods if isinstance(mod, GroupMod) and mod.command == "delete"}
    meters = {mod.meter.meter_id for mod in change.mods if isinstance(mod, MeterMod) and mod.command == "delete"}
    for mod in change.mods:
        if isinstance(mod, FlowMod) and mod.command == "add" and mod.flow.key in by_key:
            text = listing.flow(by_key[mod.flow.key], bridge.names)
            raise AnabranchError(f"{text}: somebody else's, cookie 0x{by_key[mod.flow.key].cookie:x}; {TAKE_ANOTHER}")
    users = [(listing.flow(flow, bridge.names), groups_of_flow(flow), meters_of_flow(flow)) for flow in theirs]
    users += [
        (listing.group(group, bridge.names), groups_of_group(group), meters_of_group(group))
        for group in bridge.groups
        if group not in bridge.own.groups
    ]
    for text, used_groups, used_meters in users:
        for what in (
            *(f"group 0x{group_id:x}" for group_id in sorted(used_groups & groups)),
            *(f"meter {meter_id}" for meter_id in sorted(used_meters & meters)),
        ):
            raise AnabranchError(f"{what}: in use by somebody else's {text}; take that away first")


def _warnings(wanted: rules.Wanted, bridge: Bridge) -> list[str]:
    """What the operator should know of a plan that can be applied."""
    found = []
    for group in wanted.groups:
        asked, got = group.split.paths.asked, group.split.shares()
        error = 0.0 if group.split.recipe == "failover" else mape(asked, got)
        if error > group.planned.error_pct:
            shares = ", ".join(f"{100 * share:.1f}" for share in got)
            found.append(
                f"group {group.planned.name}: {group.split.recipe} makes {shares} % of these weights, "
                f"{error:.3g} % off (MAPE); anabranch plan shows what is nearer"
            )
        dead = [bridge.names.get(port, str(port)) for port in group.split.ports if not bridge.up.get(port, False)]
        if dead:
            found.append(f"group {group.planned.name}: down: {', '.join(dead)}")
    theirs = [flow for flow in bridge.flows if flow not in bridge.own.flows]
    of = {flow: group.planned.name for group in wanted.groups for flow in group.flows}
    first: dict[str, set[Flow]] = {}
    for flow, other in rules.meeting(of, theirs):
        if other.priority >= flow.priority:
            first.setdefault(of[flow], set()).add(other)
    for name, others in sorted(first.items()):
        text = listing.flow(max(others, key=lambda flow: (flow.priority, listing.match(flow.match, {}))), bridge.names)
        found.append(f"group {name}: somebody else's {text} takes packets of it first")
    return found


def _summary(tables: Tables) -> str:
    return f"{len(tables.groups)} groups, {len(tables.flows)} rules"


async def _packets(connection: Connection) -> Counter[tuple[int, int]]:
    """Packets by group and place of the bucket."""
    counters = await connection.bucket_counters()
    return Counter({(one.group_id, place): count for one in counters for place, count in enumerate(one.packets)})


def _measured(
    plan: PlanFile,
    group: rules.Installed,
    bridge: Bridge,
    sent: dict[tuple[int, int], int],
    connections: int | None,
    steady: bool,
) -> Measured:
    split = group.split
    asked = split.shares() if split.recipe == "failover" else [float(share) for share in split.paths.asked]
    by_port: Counter[int] = Counter()
    ids = {plan.territory.group_id(split.index)}
    ids |= {path_group(split, plan.territory, path) for path in range(len(split.ports))}
    for one in bridge.own.groups:
        if one.group_id in ids:
            for place, bucket in enumerate(one.buckets):
                by_port[bucket.watch_port] += sent.get((one.group_id, place), 0)
    up = tuple(bridge.up.get(port, False) for port in split.ports)
    alive = any(up) if split.recipe == "failover" else any(one and share for one, share in zip(up, asked, strict=True))
    return Measured(
        name=group.planned.name,
        recipe=split.recipe,
        ports=tuple(bridge.names.get(port, str(port)) for port in split.ports),
        up=up,
        asked=tuple(asked),
        planned=tuple(split.shares(up)) if alive else (0.0,) * len(up),
        packets=tuple(by_port[port] for port in split.ports),
        error_pct=group.planned.error_pct,
        connections=connections,
        unsteady=not steady,
    )
