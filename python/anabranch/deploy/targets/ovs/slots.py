"""Owners of the slots of a `multipath` split, read from the switch itself, and a change that moves the fewest of them.

One rule per slot hands its connections to a group of the path's own. Whose the slot is stands in that group; whose it
was before a path lost its weight, in the rule's cookie.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence

from anabranch.deploy.openflow.action import Output, ToGroup
from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.tables import Flow, Group, Tables
from anabranch.deploy.targets.ovs.ownership import COOKIE_MASK

SLOT, SPLIT = "reg0", "reg1"
"""Registers of a connection's slot and of the number of the split's group, which no other owner has."""
HOME = ~COOKIE_MASK & 0xFFFF_FFFF
"""Bits of a slot rule's cookie with the number of the port that the slot returns to."""
PRIORITY = 1

Owner = tuple[int, int]
"""Number of the port that has a slot, and of the port that the slot returns to."""


def rule(table: int, cookie: int, split: int, slot: int, home: int, group_id: int) -> Flow:
    """The rule of one slot of the split with group number `split`; `cookie` is the ownership's."""
    match = Match.of(**{SLOT: slot, SPLIT: split})
    return Flow(table, PRIORITY, match, (ToGroup(group_id),), cookie=cookie | home)


def owners(present: Tables, table: int) -> dict[int, dict[int, Owner]]:
    """Owners by slot, by the group number of each split with rules in `table`."""
    ports = first_ports(present.groups)
    by_split: dict[int, dict[int, Owner]] = {}
    for flow in present.flows:
        if flow.table != table:
            continue
        fields = flow.match.as_mapping
        split, mask = fields.get(SPLIT, (0, 0))
        match flow.actions:
            case (ToGroup(group_id),) if group_id in ports and mask is None and SLOT in fields:
                by_split.setdefault(split, {})[fields[SLOT][0]] = ports[group_id], flow.cookie & HOME
    return by_split


def repeated(owners: Mapping[int, Owner], slots: int) -> list[Owner | None]:
    """Owners of so many slots; None where there is no rule.

    Where fewer are given, they are repeated: a hash modulo twice the slots falls on a slot or its repetition.
    """
    had = max(owners, default=0) + 1
    return [owners.get(slot % had) for slot in range(slots)]


def stand_in(port: str) -> int:
    """The number in a slot's home for a port that the bridge does not have: above all numbers of ports, by the name."""
    return 1 << 31 | zlib.crc32(port.encode()) >> 1


def at_home(owners: Mapping[int, Owner], ports: Mapping[str, int]) -> dict[int, Owner]:
    """The same owners by slot, with the numbers of ports that have come for their stand-ins."""
    numbers = {stand_in(name): number for name, number in ports.items()}
    return {slot: (owner, numbers.get(home, home)) for slot, (owner, home) in owners.items()}


def first_ports(groups: Iterable[Group]) -> dict[int, int]:
    """Ports by group: the port that its first bucket leaves by, where it does."""
    ports = {}
    for group in groups:
        match group.buckets:
            case (first, *_) if first.actions and isinstance(action := first.actions[0], Output):
                ports[group.group_id] = action.port
    return ports


def rebalanced(before: Sequence[Owner | None], ports: Sequence[int], quotas: Sequence[int]) -> list[Owner]:
    """The owner of each slot, every port having its quota and the fewest slots changing hands.

    Of the slots that may move, those go first that return home, then those that are away from it anyway. What a port
    without quota, or one that is not among these, loses stays at home there; any other slot is at home where it goes.
    The rule of `crates/split/src/apportion/min_move.rs`, whose history is here what the switch holds.
    """
    lacking = dict(zip(ports, quotas, strict=True))
    carrying = {port for port, quota in lacking.items() if quota}
    after: list[Owner | None] = [owner if owner is not None and owner[0] in lacking else None for owner in before]
    for owner in after:
        if owner is not None:
            lacking[owner[0]] -= 1
    for slot, was in enumerate(before):
        now = after[slot]
        if was is None or lacking.get(was[1], 0) <= 0 or (now is not None and lacking[now[0]] >= 0):
            continue
        if now is not None:
            lacking[now[0]] += 1
        lacking[was[1]] -= 1
        after[slot] = was[1], was[1]
    needy = [port for port in ports if lacking[port] > 0]
    turn = 0
    for slot in sorted(_far_apart(len(after)), key=lambda slot: _at_home(before[slot])):
        was, now = before[slot], after[slot]
        if now is not None:
            if lacking[now[0]] >= 0:
                continue
            lacking[now[0]] += 1
        # Ports take slots in turn, so that those of a dead path spread over all that inherit.
        turn %= len(needy)
        port = needy[turn]
        after[slot] = port, was[1] if was is not None and was[1] not in carrying else port
        lacking[port] -= 1
        if lacking[port]:
            turn += 1
        else:
            del needy[turn]
    return [owner for owner in after if owner is not None]


def _at_home(owner: Owner | None) -> bool:
    return owner is not None and owner[0] == owner[1]


def _far_apart(slots: int) -> list[int]:
    """All slots, neighbours far apart: by an odd stride near the golden section of a power of two."""
    stride = int(slots * 0.618_033_988_749_895) | 1
    return [rank * stride % slots for rank in range(slots)]
