"""A fabric as its file describes it: the values that sessions, policies and pages take."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.deploy.control.topology import End, Topology
from anabranch.deploy.openflow.tls import Tls
from anabranch.files.settings import Settings

PORT_NAME_MAX = 15
"""Characters that OpenFlow keeps of a port's name (`OFP_MAX_PORT_NAME_LEN`, with its NUL)."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class SwitchFile:
    """`[switch.NAME]` of one switch."""

    name: str
    target: str
    """Target that the switch is of, by its name."""
    keys: Any
    """Keys that only this target has, as its `SwitchKind` has read them."""
    interfaces: Mapping[End, str]
    """Name of each port at the switch."""


@dataclass(frozen=True)
class Damping:
    """When a link that goes up and down is left down; see `damping`."""

    suppress: float
    """Penalty from which it is; every loss adds 1."""
    reuse: float
    """Penalty below which it is used again."""
    half_life_s: float


@dataclass(frozen=True)
class WiringCheck:
    """Whether and how often ports say whose they are; see `wiring`."""

    use: bool
    interval_s: float
    """Time between two frames of a port."""


@dataclass(frozen=True)
class FabricFile:
    """A fabric file as a value: switches, links, policy and limits."""

    file: str
    text: str
    topology: Topology
    weights: str
    """Name of the policy."""
    recipe: str
    owner: int
    options: Mapping[str, Any]
    """Keys of the policy, from `[policy.NAME]`."""
    openflow: str
    """Address at which switches may connect; empty for none."""
    http: str
    """`HOST:PORT` of the pages; empty for none."""
    tls: Tls | None
    interval_s: float
    """Time between two readings of counters."""
    audit_s: float
    """Time between two readings of a switch's tables while nothing changes."""
    damping: Damping | None
    wiring: WiringCheck
    takeover_s: float | None
    """Time after which another controller replaces one that is silent; None where there is only one."""
    switches: Mapping[str, SwitchFile]
    prefixes: Mapping[str, Sequence[Network]]
    """Prefixes behind each leaf."""
    addresses: Mapping[str, Sequence[Network]]
    """Addresses of each host, as prefixes of full length."""

    def policy_settings(self) -> Settings:
        """The policy's own table, for it to read."""
        return Settings(self.file, f"policy.{self.weights}", self.options)

    def switches_of(self, target: str) -> list[SwitchFile]:
        """The switches of one target, in the order of the file."""
        return [switch for switch in self.switches.values() if switch.target == target]
