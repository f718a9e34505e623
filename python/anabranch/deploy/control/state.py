"""State of the controller at one moment, as values: read by its pages, its metrics and its tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.deploy.control.cable import FAULTS, CableState

PRIMARY, SECONDARY, SPLIT = "primary", "secondary", "split"
"""Roles of a controller at a switch, which only a primary changes; split is one of each among the switches."""


@dataclass(frozen=True)
class NodeState:
    """A node of the fabric as built."""

    name: str
    tier: str
    """`host`, `leaf`, `aggregation` or `spine`."""
    pod: int | str | None = None
    """Pod of the switch, where the fabric has pods."""


@dataclass(frozen=True)
class SwitchState:
    """One switch, as far as it can be reached."""

    name: str
    address: str
    """Address at which it is reached; empty if it connects to us."""
    connected: bool
    datapath_id: int | None
    """None until it was reached once."""
    changed_s: float
    """When it was last reached or lost, in seconds of Unix time; 0 before the first attempt has ended."""
    last_error: str
    """Why it is not connected, or what it last refused; empty if all is well."""
    differences: int
    """Changes that are planned and not in the switch."""
    refused: bool
    """It refused the planned changes; they are not sent again until plan or switch change."""
    flows: int
    """Flows of ours in the switch; so are groups and meters."""
    groups: int
    meters: int
    connects: int
    """How often it was reached."""
    commits: int
    """Sets of changes it took."""
    changes: int
    """Flows, groups and meters added, changed or removed by them."""
    committed_s: float
    """When the last of them was in place, in seconds of Unix time; 0 before the first."""
    commit_duration_s: float
    """How long the last took, from sent to confirmed."""
    lost_s: float = 0.0
    """When its connection ended last, in seconds of Unix time; 0 if it never did."""
    role: str = ""
    """`PRIMARY` if this controller may change it, `SECONDARY` if another may; empty where there is only one."""


@dataclass(frozen=True)
class LinkState:
    """A link between two nodes; pairs of values are of the directions a to b and b to a."""

    a: str
    b: str
    parallel: int
    """Number among the links of the same two nodes, from 0."""
    up: bool
    """Whether plans use it."""
    reason: str
    """Why it is down, as in `leaf0: port down`; empty if it is up."""
    rate_bps: int
    load_bps: tuple[float | None, float | None]
    """Rate of what left by the port over the last measured interval; None where there is no measurement."""
    built_rate_bps: int = 0
    """Rate as the file has it; 0 where that is not known."""
    lost_share: tuple[float, float] = (0.0, 0.0)
    """Share of what left by the port and did not arrive, by the counters of both ends; 0 where none is known of."""


@dataclass(frozen=True)
class MemberState:
    """One way out of a group."""

    neighbour: str
    parallel: int
    port: int
    """OpenFlow number."""
    weight: int
    """Planned weight."""
    wanted_share: float
    measured_share: float | None
    """Share of what the group sent over the last measured interval; None where nothing was measured or sent."""


@dataclass(frozen=True)
class GroupState:
    """How a switch sends to one leaf."""

    switch: str
    leaf: str
    group_id: int | None
    """None where the recipe splits without a group."""
    members: tuple[MemberState, ...]
    """None: the leaf cannot be reached."""
    measured_bytes: int
    """Bytes that the measured shares are shares of."""
    measured_packets: int = 0
    """Packets that they are shares of, where the switch's groups count no bytes."""


@dataclass(frozen=True)
class Snapshot:
    """State of the whole network: immutable, and safe to be read by any thread."""

    time_s: float
    """Unix time."""
    started_s: float
    policy: str
    recipe: str
    owner: int
    nodes: tuple[NodeState, ...]
    switches: tuple[SwitchState, ...]
    links: tuple[LinkState, ...]
    groups: tuple[GroupState, ...]
    plans: int
    """Plans made since the start."""
    planned_s: float
    """When the last was made, in seconds of Unix time; 0 before the first."""
    plan_duration_s: float
    """How long the last took to compute."""
    measured_s: float
    """When counters were last read, in seconds of Unix time; 0 before the first."""
    file_error: str
    """Error in the file that could not be taken on; empty if the file in force is the one read last."""
    events: Mapping[str, int] = field(default_factory=dict)
    """How often each kind of `event.KINDS` happened since the start."""
    handshake_failed_s: float = 0.0
    """When one that came to us last failed to introduce itself, in seconds of Unix time; 0 if none did."""
    handshake_error: str = ""
    """Peer that failed the handshake, the reason, and a hint."""
    unplanned: bool = False
    """Something changed of late, and the plan that follows from it has not been made."""
    cables: tuple[CableState, ...] = ()
    """Ports between switches, and what they hear."""

    @property
    def role(self) -> str:
        """`PRIMARY` or `SECONDARY` at all switches that have roles, `SPLIT` at some each; empty where none has."""
        roles = {switch.role for switch in self.switches if switch.role}
        return SPLIT if len(roles) > 1 else next(iter(roles), "")

    @property
    def stands_by(self) -> bool:
        """Whether another controller changes all switches, and this one could at once: each is connected."""
        return self.role == SECONDARY and self.plans > 0 and all(switch.connected for switch in self.switches)

    @property
    def converged(self) -> bool:
        """Whether every switch is connected and holds exactly the plan, and that is of the network as it is.

        It is not where a link that plans use loses packets, nor while a cable may lead elsewhere than the file has it,
        nor where another controller changes a switch.
        """
        if self.role in (SECONDARY, SPLIT):
            return False
        is_converged = all(switch.connected and not switch.differences for switch in self.switches)
        is_sound = not any(link.up and any(link.lost_share) for link in self.links)
        is_true = not any(cable.verdict in FAULTS for cable in self.cables)
        return self.plans > 0 and is_converged and is_sound and is_true and not self.unplanned
