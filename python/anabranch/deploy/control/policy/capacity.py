"""Paths by the capacity behind them (WCMP: Zhou et al., EuroSys 2014, section 2)."""

from __future__ import annotations

from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.policy.equal import Weighed


def build(file: FabricFile) -> Weighed:
    """The policy; it has no settings."""
    file.policy_settings().end()
    return Weighed(file, by_capacity=True)
