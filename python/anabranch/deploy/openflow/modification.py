"""One change of a bridge's tables (OpenFlow 1.5.1 sections 7.3.4.2, 7.3.4.3, 7.3.4.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from anabranch.deploy.openflow.tables import Flow, Group, Meter


@dataclass(frozen=True)
class FlowMod:
    """Adds a rule, replacing one with the same key, or deletes exactly this one if its cookie is the rule's."""

    command: Literal["add", "delete"]
    flow: Flow


@dataclass(frozen=True)
class GroupMod:
    """Adds a group, replaces all its buckets, or deletes it together with every rule that leads to it."""

    command: Literal["add", "modify", "delete"]
    group: Group


@dataclass(frozen=True)
class MeterMod:
    """Adds, changes or deletes a meter; deleting it deletes the rules that lead to it."""

    command: Literal["add", "modify", "delete"]
    meter: Meter


Mod = FlowMod | GroupMod | MeterMod
