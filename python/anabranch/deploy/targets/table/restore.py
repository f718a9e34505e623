"""The desired state that brings back an observed one."""

from __future__ import annotations

from anabranch.deploy.targets.table.desired import Desired
from anabranch.deploy.targets.table.observe import Observed


def scope(observed: Observed) -> str:
    """The owner's file, in words."""
    return f"tables in {observed.file.resolve()}"


def restore(observed: Observed) -> Desired:
    """The tables of the owner's file as they are."""
    return Desired(observed.state, ())
