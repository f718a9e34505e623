"""Groups and meters that rules and groups refer to, wherever in their actions and instructions."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from anabranch.deploy.openflow.action import ANY, Action, Foreign, Metered, ToGroup
from anabranch.deploy.openflow.action_list import decode_actions
from anabranch.deploy.openflow.blocks import blocks
from anabranch.deploy.openflow.tables import Flow, Group

_WRITE = 3
"""The instruction OFPIT_WRITE_ACTIONS (OpenFlow 1.5.1 section 7.2.5)."""
_INSTRUCTION_HEAD = struct.Struct(">HH4x")
_NESTED = struct.Struct(">HHIH6x")
"""Head of an action of Open vSwitch's that holds actions (`struct ext_action_header` of its `lib/ofp-actions.c`)."""
_EXPERIMENTER, _NICIRA, _CLONE = 0xFFFF, 0x2320, 42


def written_actions(flow: Flow) -> tuple[Action, ...]:
    """Actions that a rule adds to the packet's action set (`write_actions`)."""
    return tuple(
        action
        for kind, start, stop in blocks(flow.foreign, 0, len(flow.foreign), "instructions")
        if kind == _WRITE
        for action in decode_actions(flow.foreign, start + _INSTRUCTION_HEAD.size, stop)
    )


def groups_of_flow(flow: Flow) -> set[int]:
    """Numbers of the groups that a rule sends packets to, at once or at the end of its tables."""
    return _groups((*flow.actions, *written_actions(flow)))


def groups_of_group(group: Group) -> set[int]:
    """Numbers of the groups that a group's buckets send packets to, or live by."""
    watched = {bucket.watch_group for bucket in group.buckets} - {ANY}
    return watched | _groups(action for bucket in group.buckets for action in bucket.actions)


def meters_of_flow(flow: Flow) -> set[int]:
    """Numbers of the meters that a rule's packets pass."""
    return _meters((*flow.actions, *written_actions(flow)))


def meters_of_group(group: Group) -> set[int]:
    """Numbers of the meters that packets pass in a group's buckets."""
    return _meters(action for bucket in group.buckets for action in bucket.actions)


def _groups(actions: Iterable[Action]) -> set[int]:
    return {action.group_id for action in _every(actions) if isinstance(action, ToGroup)}


def _meters(actions: Iterable[Action]) -> set[int]:
    return {action.meter_id for action in _every(actions) if isinstance(action, Metered)}


def _every(actions: Iterable[Action]) -> Iterator[Action]:
    """All actions, and those inside `clone(...)`, at any depth."""
    for action in actions:
        yield action
        if isinstance(action, Foreign) and len(action.data) >= _NESTED.size:
            kind, length, vendor, subtype = _NESTED.unpack_from(action.data)
            if (kind, vendor, subtype) == (_EXPERIMENTER, _NICIRA, _CLONE):
                yield from _every(decode_actions(action.data, _NESTED.size, length))
