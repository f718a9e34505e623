"""Owners of the slots of a `multipath` split, read from the switch itself, and a change that moves the fewest of them.

One rule per slot hands its connections to a group of the path's own. Whose the slot is stands in that group; whose it
was before a path lost its weight, in the rule's cookie. Nothing is remembered outside the switch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def owners(present: Tables, table: int, split: int, slots: int) -> list[Owner | None]:
    """Owners by slot, of the split with group number `split` and rules in `table`; None where there is no rule.

    Where fewer slots are present, they are repeated: a hash modulo twice the slots falls on a slot or its repetition.
    """
    ports = first_ports(present.groups)
    owners_by_slot: dict[int, Owner] = {}
    for flow in present.flows:
        fields = flow.match.as_mapping
        if flow.table != table or fields.get(SPLIT) != (split, None) or SLOT not in fields:
            continue
        match flow.actions:
            case (ToGroup(group_id),) if group_id in ports:
                owners_by_slot[fields[SLOT][0]] = ports[group_id], flow.cookie & HOME
    had = max(owners_by_slot, default=0) + 1
    return [owners_by_slot.get(slot % had) for slot in range(slots)]


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
    without quota loses stays at home there; any other slot is at home where it goes. The rule of
    `crates/split/src/apportion/min_move.rs`, whose history is here what the switch holds.
    """
    lacking = dict(zip(ports, quotas, strict=True))
    idle = {port for port, quota in lacking.items() if quota == 0}
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
        after[slot] = port, was[1] if was is not None and was[1] in idle else port
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
