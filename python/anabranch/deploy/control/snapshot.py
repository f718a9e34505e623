"""The controller's state put into values.

Made by the thread that asks, while the event loop goes on: it reads values that are replaced, never changed, and
copies what is changed in one step.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from anabranch.deploy.control.event import Events
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.network import Network
from anabranch.deploy.control.policy import PlannedGroup, SwitchPlan
from anabranch.deploy.control.progress import Progress
from anabranch.deploy.control.session import Session
from anabranch.deploy.control.state import GroupState, MemberState, Snapshot
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.control.wiring import Wiring


def snapshot(
    file: FabricFile,
    network: Network,
    sessions: Mapping[str, Session[Any]],
    plans: Mapping[str, SwitchPlan],
    progress: Progress,
    events: Events,
    wiring: Wiring,
) -> Snapshot:
    """The state of the network at this moment."""
    planned, unplanned = progress.plans, progress.unplanned
    groups: list[GroupState] = []
    for name, plan in plans.items():
        session = sessions.get(name)
        if session is not None:
            numbers = network.openflow_ports(name)
            groups += [_group(session, one, network.topology, numbers) for one in plan.groups]
    return Snapshot(
        time_s=time.time(),
        started_s=progress.started_s,
        policy=file.weights,
        recipe=file.recipe,
        owner=file.owner,
        nodes=network.topology.nodes,
        switches=tuple(session.state() for session in sessions.values()),
        links=network.links,
        groups=tuple(groups),
        plans=progress.plans,
        planned_s=progress.planned_s,
        plan_duration_s=progress.plan_duration_s,
        measured_s=progress.measured_s,
        file_error=progress.file_error,
        events=dict(events.counts),
        handshake_failed_s=progress.handshake_failed_s,
        handshake_error=progress.handshake_error,
        cables=wiring.cables,
        # The values above are of different moments if a plan came in between.
        unplanned=unplanned or progress.unplanned or progress.plans != planned,
    )


def _group(session: Session[Any], planned: PlannedGroup, topology: Topology, numbers: dict[int, int]) -> GroupState:
    sizes = session.sizes(planned)
    measured, weights = sizes.total(), sum(member.weight for member in planned.members)
    members = []
    for member in planned.members:
        end, port = topology.ends[member.port], numbers.get(member.port)
        if port is not None:
            got = sizes[port] / measured if measured else None
            share = member.weight / weights if weights else 0.0
            members.append(MemberState(end.neighbour, end.parallel, port, member.weight, share, got))
    counted = {f"measured_{session.unit}": measured}
    return GroupState(session.name, planned.leaf, planned.group_id, tuple(members), **{"measured_bytes": 0, **counted})
