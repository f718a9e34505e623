"""First message of a controller to an agent, and the agent's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.deploy.netlink.nexthop import Device, Hop
from anabranch.deploy.targets.linux.agent import record
from anabranch.deploy.targets.linux.agent.framing import VERSION, Message, MessageError

PROTOCOL_KEY = "anabranch-agent"


@dataclass(frozen=True)
class Hello:
    """What a controller follows at an agent."""

    owner: int
    names: tuple[str, ...]
    """Names of the devices."""
    hops: frozenset[Hop]
    """Hops whose gateways are watched."""

    def record(self) -> dict[str, Any]:
        """The message."""
        return {
            PROTOCOL_KEY: VERSION,
            "owner": self.owner,
            "devices": list(self.names),
            "hops": record.hops_record(self.hops),
        }


@dataclass(frozen=True)
class Welcome:
    """What an agent says of its kernel at first."""

    weight_max: int
    devices: Mapping[str, Device]

    def record(self) -> dict[str, Any]:
        """The message."""
        links = record.devices_record(self.devices, self.devices)
        return {PROTOCOL_KEY: VERSION, "weight_max": self.weight_max, "links": links}


def read_hello(message: Message) -> Hello:
    """The first message of a controller.

    Raises:
        MessageError: it is another's, or another version's.

    """
    _check_version(message, "a controller", "the agent")
    return Hello(
        record.integer(message.get("owner"), "owner", 0, record.U8),
        tuple(record.names_of(message.get("devices"), "devices")),
        record.read_hops(message.get("hops")),
    )


def read_welcome(message: Message) -> Welcome:
    """The first message of an agent.

    Raises:
        MessageError: it is another's, another version's, or says why the agent refuses.

    """
    if "error" in message:
        raise MessageError(f"refused: {record.text(message['error'], 'error', 1000)}")
    _check_version(message, "an agent", "the controller")
    weight_max = record.integer(message.get("weight_max"), "weight_max", 1, record.U16)
    return Welcome(weight_max, record.read_devices(message.get("links")))


def _check_version(message: Message, other: str, this: str) -> None:
    version = message.get(PROTOCOL_KEY)
    if version is None:
        raise MessageError(f"no {PROTOCOL_KEY} in the first message: not {other} of anabranch")
    if version != VERSION:
        problem = f"version {str(version)[:20]} of the protocol, and {this} has {VERSION}"
        raise MessageError(f"{problem}; install the same anabranch on both machines")
