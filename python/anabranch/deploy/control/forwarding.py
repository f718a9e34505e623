"""Forwarding by weights towards leaves, in the terms of one target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from anabranch import _core
from anabranch.deploy.control.fabric import Network, SwitchFile

State = TypeVar("State")
WEIGHT_MAX = 0xFFFF
UNITS = 4096
"""Sum to which larger weights are brought down: as many slots as there are."""


@dataclass(frozen=True)
class Towards:
    """The ports of a switch that lead to one leaf, with their weights."""

    switch: SwitchFile
    leaf: str
    index: int
    """Number of the leaf in the fabric, from 0."""
    networks: Sequence[Network]
    """Networks behind the leaf."""
    paths: tuple[tuple[int, int], ...]
    """Number at the switch and weight of each path of the fabric as built. A path keeps its number when others die;
    one of weight 0 carries nothing."""
    interfaces: tuple[str, ...] = ()
    """Name of the interface of each path."""

    @property
    def reached(self) -> bool:
        """Whether any path carries something."""
        return any(weight for _, weight in self.paths)


def in_16_bits(weights: Sequence[int]) -> list[int]:
    """Weights of 16 bits each in the ratio of these, or near it where they are larger (Webster's method)."""
    if max(weights) <= WEIGHT_MAX:
        return list(weights)
    return list(_core.webster_slots([str(weight) for weight in weights], [weight > 0 for weight in weights], UNITS))


@dataclass(frozen=True)
class OwnHost:
    """A host at a switch, with the ports that lead to it."""

    name: str
    addresses: Sequence[Network]
    ports: tuple[int, ...]
    """Numbers at the switch."""


class Forwarding(ABC, Generic[State]):
    """The content of switches of one target; `State` is what such a switch holds of ours, or a part of it."""

    @abstractmethod
    def towards(self, paths: Towards, present: State | None) -> State:
        """The content for one leaf. A leaf that cannot be reached has content that drops.

        Args:
            paths: where its packets go.
            present: content that was planned before, or is observed, if there is any: as little of it changes as can.

        Raises:
            AnabranchError: the target cannot carry these weights.

        """

    @abstractmethod
    def hosts(self, switch: SwitchFile, hosts: Sequence[OwnHost]) -> State:
        """The content for the hosts of a switch."""

    def listening(self, ports: Sequence[int]) -> State | None:
        """The content by which LLDP frames from ports reach the controller; None where it needs none or they cannot.

        Args:
            ports: numbers at the switch.

        """
        del ports
        return None

    @abstractmethod
    def joined(self, parts: Sequence[State]) -> State:
        """All parts as one state."""

    @abstractmethod
    def shares(self, switch: SwitchFile, observed: State, leaf: str, index: int) -> dict[int, float]:
        """Shares by number of the port that a switch gives its paths to a leaf; empty where it has none."""

    def group_ids(self, content: State, index: int) -> tuple[int | None, tuple[int, ...]]:
        """Number of a leaf's group, and of all groups whose counters say what went which way, where there are any."""
        del content, index
        return None, ()
