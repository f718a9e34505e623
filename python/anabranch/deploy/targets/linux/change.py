"""The fewest steps from one state of a kernel's nexthops, groups and routes to another, all or none of them."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection, KernelRefusedError
from anabranch.deploy.netlink.nexthop import Device, Nexthop, NexthopGroup, Route
from anabranch.deploy.targets.linux.observe import LinuxState, Observed, read
from anabranch.deploy.targets.protocol import Change
from anabranch.files.errors import AnabranchError

GONE = (errno.ENOENT, errno.ESRCH)
"""The kernel's refusals to remove a nexthop or a route that is not there."""
Key = TypeVar("Key")
Entry = TypeVar("Entry", Nexthop, NexthopGroup, Route)


def change(observed: Observed, desired: LinuxState) -> Change:
    """The change of the owner's part of a kernel to `desired`.

    Raises:
        AnabranchError: somebody else uses what would go.

    """
    difference = steps(observed.state, desired)
    _refuse_harm(observed.connection, difference, observed.state)
    return Change(
        lines(difference, observed.state, desired),
        len(difference),
        f"{len(desired.nexthops)} nexthops, {len(desired.groups)} groups, {len(desired.routes)} routes",
        lambda: _commit(observed, difference),
    )


def _commit(observed: Observed, changes: list[Step]) -> None:
    """Takes the steps, or none of them: rtnetlink has no transactions, so what was taken is taken back."""
    connection, devices = observed.connection, observed.devices
    step = changes[0]
    try:
        for step in changes:
            take(connection, step, devices)
    except KernelRefusedError as refused:
        now = read(connection, observed.owner, list(devices.values()))
        for back in steps(now, observed.state):
            take(connection, back, devices)
        raise AnabranchError(_blamed(step, refused)) from None


def _refuse_harm(connection: Connection, changes: list[Step], state: LinuxState) -> None:
    """With a group the kernel removes the routes to it, and a nexthop leaves its groups: also somebody else's."""
    gone = {step.old.group_id for step in changes if step.new is None and isinstance(step.old, NexthopGroup)}
    singles = {step.old.nexthop_id for step in changes if step.new is None and isinstance(step.old, Nexthop)}
    if gone:
        for route in kernel.routes(connection):
            if route.nexthop_id in gone and state.routes.get(route.key) != route:
                raise AnabranchError(
                    f"group {route.nexthop_id:#x}: somebody else's route {route} uses it; remove that first"
                )
    if singles:
        for group in kernel.nexthops(connection, kernel.devices(connection))[1]:
            if group.group_id not in state.groups and (used := singles & set(dict(group.members))):
                raise AnabranchError(
                    f"nexthop {min(used):#x}: somebody else's group {group.group_id} has it; remove that first"
                )


def _blamed(step: Step, refused: KernelRefusedError) -> str:
    (line, *_) = lines([step], LinuxState(), LinuxState())
    hint = "nothing is changed"
    if "EEXIST" in str(refused):
        hint = "somebody else's route has that prefix, table and metric; give another metric; nothing is changed"
    return f"{line}: {refused}; {hint}"


@dataclass(frozen=True)
class Step:
    """One change: from `old` to `new`, either of them None."""

    old: Nexthop | NexthopGroup | Route | None
    new: Nexthop | NexthopGroup | Route | None


def steps(old: LinuxState, new: LinuxState) -> list[Step]:
    """The fewest changes, each after what it needs: nexthops, groups, routes; then what is gone, the other way."""
    created = [
        *_changed(old.nexthops, new.nexthops),
        *_changed(old.groups, new.groups),
        *_changed(old.routes, new.routes),
    ]
    gone = [*_gone(old.routes, new.routes), *_gone(old.groups, new.groups), *_gone(old.nexthops, new.nexthops)]
    return [*created, *gone]


def take(connection: Connection, step: Step, devices: Mapping[str, Device]) -> None:
    """Has the kernel take a step.

    Raises:
        KernelRefusedError: it does not.

    """
    match step.new:
        case Nexthop():
            hop = step.new.hop
            kernel.put_nexthop(connection, step.new, None if hop.drops else devices[hop.device])
        case NexthopGroup():
            kernel.put_group(connection, step.new)
        case Route():
            kernel.put_route(connection, step.new, replace=step.old is not None)
        case None:
            try:
                _delete(connection, step.old)
            except KernelRefusedError as refused:
                # A device that has just died has taken it along.
                if refused.code not in GONE:
                    raise


def _delete(connection: Connection, old: Nexthop | NexthopGroup | Route | None) -> None:
    match old:
        case Route():
            kernel.delete_route(connection, old)
        case NexthopGroup(group_id=number) | Nexthop(nexthop_id=number):
            kernel.delete_nexthop(connection, number)


def lines(changes: Sequence[Step], old: LinuxState, new: LinuxState) -> list[str]:
    """Lines for people: `+` new, `-` gone, `~-` was and `~+` is now, changed in place."""
    rows = []
    for step in changes:
        if step.old is None and step.new is not None:
            rows.append(f"+ {_text(step.new, new)}")
        elif step.new is None and step.old is not None:
            rows.append(f"- {_text(step.old, old)}")
        elif step.old is not None and step.new is not None:
            rows += [f"~- {_text(step.old, old)}", f"~+ {_text(step.new, new)}"]
    return rows


def _text(one: Nexthop | NexthopGroup | Route, state: LinuxState) -> str:
    """`route 10.2.0.0/16 ... -> group 0xab000000`, in `ip`'s words but for the numbers of nexthops."""
    match one:
        case Nexthop(nexthop_id=number, hop=hop):
            return f"nexthop {number:#x} {hop}"
        case NexthopGroup(group_id=number, members=members, resilience=resilience):
            list_text = ", ".join(
                f"{state.nexthops[member].hop if member in state.nexthops else hex(member)} weight={weight}"
                for member, weight in members
            )
            more = (
                "" if resilience is None else f" buckets={resilience.buckets} idle={resilience.idle_timer_cs / 100:g}s"
            )
            if resilience is not None and resilience.unbalanced_timer_cs:
                more += f" unbalanced={resilience.unbalanced_timer_cs / 100:g}s"
            return f"group {number:#x} {one.kind}{more}: {list_text or 'empty'}"
        case Route(nexthop_id=number) if number in state.nexthops:
            return f"route {one} -> {state.nexthops[number].hop}"
        case Route(nexthop_id=number):
            return f"route {one} -> group {number:#x}"


def _changed(old: Mapping[Key, Entry], new: Mapping[Key, Entry]) -> Iterator[Step]:
    for key, one in new.items():
        before = old.get(key)
        if before != one:
            yield Step(before, one)


def _gone(old: Mapping[Key, Entry], new: Mapping[Key, Entry]) -> Iterator[Step]:
    for key, one in old.items():
        if key not in new:
            yield Step(one, None)
