"""A switch that keeps its history in a file, and a history of its weights towards leaf1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from anabranch.deploy.control import file
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.state import Snapshot
from support.dummy_fabric import members

RATES = (2_500_000_000, 7_000_000_000, 4_000_000_000)
"""Rates of the link from leaf1 to spine1, one after the other; all others have 10 Gb/s."""


def with_state(text: str, state: Path) -> FabricFile:
    """A fabric's file, in which leaf0 keeps its history."""
    return file.parse(text.replace("[switch.leaf0]", f'[switch.leaf0]\nstate = "{state}"'), "fabric.toml")


def weighs(rate_bps: int) -> Callable[[Snapshot], bool]:
    """Whether the plan follows a rate and is in force."""

    def holds(snapshot: Snapshot) -> bool:
        weights = members(snapshot, "leaf0", "leaf1")
        follows = weights.get("spine1", 0) * 10_000_000_000 == weights.get("spine0", -1) * rate_bps
        return follows and snapshot.converged

    return holds
