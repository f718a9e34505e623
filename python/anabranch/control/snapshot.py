"""The controller's state put into values.

Made by the thread that asks, while the event loop goes on: it reads values that are replaced, never changed, and
copies what is changed in one step.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from anabranch.control.policy import PlannedGroup
from anabranch.control.session import Session
from anabranch.control.state import GroupState, MemberState, Snapshot
from anabranch.control.topology import Topology

if TYPE_CHECKING:
    from anabranch.control.controller import Controller


def snapshot(controller: Controller) -> Snapshot:
    """All of it, now."""
    file, network, sessions = controller.file, controller.network, controller.sessions
    groups, planned, unplanned = [], controller.planned, controller.unplanned
    for name, plan in dict(controller.plans).items():
        session = sessions.get(name)
        if session is not None:
            numbers = network.openflow_ports(name)
            groups += [_group(session, planned, network.topology, numbers) for planned in plan.groups]
    return Snapshot(
        time_s=time.time(),
        started_s=controller.started_s,
        policy=file.weights,
        recipe=file.recipe,
        owner=file.owner,
        nodes=network.topology.nodes,
        switches=tuple(session.state() for session in sessions.values()),
        links=network.links,
        groups=tuple(groups),
        plans=controller.planned,
        planned_s=controller.planned_s,
        plan_duration_s=controller.plan_duration_s,
        measured_s=controller.measured_s,
        file_error=controller.file_error,
        events=dict(controller.events.counts),
        handshake_failed_s=controller.handshake_failed_s,
        handshake_error=controller.handshake_error,
        # Whatever was read before may be of another moment than what was read after.
        unplanned=unplanned or controller.unplanned or controller.planned != planned,
    )


def _group(session: Session[Any], planned: PlannedGroup, topology: Topology, numbers: dict[int, int]) -> GroupState:
    sizes = session.sizes(planned)
    measured, wanted = sizes.total(), sum(member.weight for member in planned.members)
    members = []
    for member in planned.members:
        end, port = topology.ends[member.port], numbers.get(member.port)
        if port is not None:
            got = sizes[port] / measured if measured else None
            share = member.weight / wanted if wanted else 0.0
            members.append(MemberState(end.neighbour, end.parallel, port, member.weight, share, got))
    return GroupState(session.name, planned.leaf, planned.group_id, tuple(members), measured)
