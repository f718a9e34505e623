"""What of a kernel's nexthops, groups and routes is ours, and the steps from one such state to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from anabranch.netlink import kernel
from anabranch.netlink.connection import Connection
from anabranch.netlink.nexthop import Device, Nexthop, NexthopGroup, Prefix, Route

Key = TypeVar("Key")
Held = TypeVar("Held", Nexthop, NexthopGroup, Route)

PROTOCOL = 171
"""Of all we make, in rtnetlink's numbers: one that `/etc/iproute2/rt_protos` gives nobody."""
FIRST = 0xAB00_0000
PER_OWNER = 1 << 16
NEXTHOPS = 1 << 15
"""Of an owner's numbers, those from here on are single nexthops, those below groups."""


def first_number(owner: int) -> int:
    """Of an owner's nexthops and groups."""
    return FIRST + owner * PER_OWNER


@dataclass(frozen=True)
class State:
    """An owner's part of a kernel."""

    nexthops: Mapping[int, Nexthop] = field(default_factory=dict)
    groups: Mapping[int, NexthopGroup] = field(default_factory=dict)
    routes: Mapping[tuple[Prefix, int, int], Route] = field(default_factory=dict)


def read(connection: Connection, owner: int, devices: Sequence[Device]) -> State:
    """What a kernel has of an owner."""
    first = first_number(owner)

    def own(number: int, protocol: int) -> bool:
        return protocol == PROTOCOL and first <= number < first + PER_OWNER

    singles, groups = kernel.nexthops(connection, devices)
    return State(
        {one.nexthop_id: one for one in singles if own(one.nexthop_id, one.protocol)},
        {one.group_id: one for one in groups if own(one.group_id, one.protocol)},
        {one.key: one for one in kernel.routes(connection, PROTOCOL) if own(one.nexthop_id, one.protocol)},
    )


@dataclass(frozen=True)
class Step:
    """One change: from `old` to `new`, either of them None."""

    old: Nexthop | NexthopGroup | Route | None
    new: Nexthop | NexthopGroup | Route | None


def steps(old: State, new: State) -> list[Step]:
    """The fewest changes, each after what it needs: nexthops, groups, routes; then what is gone, the other way."""
    made = [
        *_changed(old.nexthops, new.nexthops),
        *_changed(old.groups, new.groups),
        *_changed(old.routes, new.routes),
    ]
    gone = [*_gone(old.routes, new.routes), *_gone(old.groups, new.groups), *_gone(old.nexthops, new.nexthops)]
    return [*made, *gone]


def take(connection: Connection, step: Step, devices: Mapping[str, Device]) -> None:
    """Has the kernel take a step.

    Raises:
        KernelRefusedError: it does not.

    """
    match step.new:
        case Nexthop():
            kernel.put_nexthop(connection, step.new, devices[step.new.way.device])
        case NexthopGroup():
            kernel.put_group(connection, step.new)
        case Route():
            kernel.put_route(connection, step.new, replace=step.old is not None)
        case None:
            match step.old:
                case Route():
                    kernel.delete_route(connection, step.old)
                case NexthopGroup(group_id=number) | Nexthop(nexthop_id=number):
                    kernel.delete_nexthop(connection, number)


def lines(changes: Sequence[Step], old: State, new: State) -> list[str]:
    """For people: `+` new, `-` gone, `~-` was and `~+` is now, changed in place."""
    found = []
    for step in changes:
        if step.old is None and step.new is not None:
            found.append(f"+ {_text(step.new, new)}")
        elif step.new is None and step.old is not None:
            found.append(f"- {_text(step.old, old)}")
        elif step.old is not None and step.new is not None:
            found += [f"~- {_text(step.old, old)}", f"~+ {_text(step.new, new)}"]
    return found


def _text(one: Nexthop | NexthopGroup | Route, state: State) -> str:
    """`route 10.2.0.0/16 ... -> group 0xab000000`, in `ip`'s words but for the numbers of nexthops."""
    match one:
        case Nexthop(nexthop_id=number, way=way):
            return f"nexthop {number:#x} {way}"
        case NexthopGroup(group_id=number, members=members, resilience=resilience):
            held = ", ".join(
                f"{state.nexthops[member].way if member in state.nexthops else hex(member)} weight={weight}"
                for member, weight in members
            )
            more = (
                "" if resilience is None else f" buckets={resilience.buckets} idle={resilience.idle_timer_cs / 100:g}s"
            )
            if resilience is not None and resilience.unbalanced_timer_cs:
                more += f" unbalanced={resilience.unbalanced_timer_cs / 100:g}s"
            return f"group {number:#x} {one.kind}{more}: {held or 'empty'}"
        case Route(nexthop_id=number):
            return f"route {one} -> group {number:#x}"


def _changed(old: Mapping[Key, Held], new: Mapping[Key, Held]) -> Iterator[Step]:
    for key, one in new.items():
        before = old.get(key)
        if before != one:
            yield Step(before, one)


def _gone(old: Mapping[Key, Held], new: Mapping[Key, Held]) -> Iterator[Step]:
    for key, one in old.items():
        if key not in new:
            yield Step(one, None)
