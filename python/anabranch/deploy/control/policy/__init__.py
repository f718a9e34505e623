"""Policies, which plan what each switch should hold, from the state of the network: one per file, found by itself.

A policy is a module of this package with a function `build(file: FabricFile) -> Policy`; `policy.weights` of the file
names it. A policy may remember what it last planned, but nothing that a restart must not lose: planned anew over the
same network with what is installed, the tables are the same.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.rule_rates import RuleKey
from anabranch.deploy.control.topology import Topology


@dataclass(frozen=True)
class View:
    """The network at one moment. Ports are the topology's."""

    topology: Topology
    up: tuple[bool, ...]
    """Whether each port is up; both ports of a link have the same state."""
    rate_bps: tuple[int, ...]
    """Rate of each port; both ports of a link have the same, the least that either end or the file says."""
    load_bps: tuple[float, ...]
    """Load of each port, what leaves by it, over the last measured interval; 0 where it is not measured."""
    openflow_port: Mapping[int, int]
    """Number at the switch of each port, for the switches that were reached: OpenFlow's, or the interface's."""
    observed: Mapping[str, Any] = field(default_factory=dict)
    """Observed state of ours in each of them, in its target's terms."""
    measurements: int = 0
    """How often counters were read; the same number, the same loads."""
    rule_bps: Mapping[tuple[str, RuleKey], float] = field(default_factory=dict)
    """Rate of what each counted rule matched over the last measured interval, by switch and rule."""
    installed: Mapping[tuple[str, str], Mapping[int, float]] | None = None
    """Shares by port that switches held towards leaves when they were read, where a recording says so."""


@dataclass(frozen=True)
class PlannedMember:
    """One way out of a group."""

    port: int
    """The topology's."""
    weight: int
    """0: planned, but carries nothing now."""


@dataclass(frozen=True)
class PlannedGroup:
    """How a switch should send to one leaf; for people, since `SwitchPlan` has it for the switch."""

    leaf: str
    members: tuple[PlannedMember, ...]
    group_id: int | None = None
    counted: tuple[int, ...] = ()
    """The groups whose buckets with a port count what went which way."""


@dataclass(frozen=True)
class SwitchPlan:
    """Plan of what one switch should hold of ours."""

    desired: Any
    """Desired state, in the terms of the switch's target."""
    groups: tuple[PlannedGroup, ...] = ()


class Policy(Protocol):
    """A way to plan."""

    counts_rules: bool = False
    """Whether it wants to know what rules of slices carry."""
    reads_tables: bool = False
    """Whether its plans follow whole tables of switches, which no recording has."""

    def plan(self, view: View) -> Mapping[str, SwitchPlan]:
        """The plan of every switch that was reached (whose ports `view.openflow_port` has).

        Called whenever links, rates or ports change and after each measurement, in the event loop: quick, and
        incremental. The same object for a switch as last time says that nothing changed there.

        Raises:
            AnabranchError: there is no plan for this network; what is installed stays.

        """
        ...

    def installed(self, view: View) -> Mapping[tuple[str, str], Mapping[int, float]]:
        """Shares by the switch's number of the port that the next plan takes from what switches hold, for a record."""
        del view
        return {}

    def labels(self, observed: Mapping[str, Any]) -> Mapping[str, object] | None:
        """Labels that hosts are to mark packets with, as `plan.slices.published`, given what switches hold; or None.

        Called by one thread at a time, which need not be the event loop's.
        """
        del observed
        return None


def names() -> list[str]:
    """All policies."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def build(name: str, file: FabricFile) -> Policy:
    """The policy of that name.

    Raises:
        AnabranchError: the file has a key for it that is not as it must be.

    """
    policy: Policy = importlib.import_module(f"{__name__}.{name}").build(file)
    return policy
