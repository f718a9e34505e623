"""Microslices in the terms of one target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from anabranch.deploy.control.rule_rates import RuleKey
from anabranch.deploy.targets.plan.slices import BURST_S, FRAME_BYTES, Pair

State = TypeVar("State")


@dataclass(frozen=True)
class Limits:
    """Limits that switches put on slices."""

    meters: bool = True
    """Whether there are any."""
    burst_s: float = BURST_S
    frame_bytes: int = FRAME_BYTES


class Slicing(ABC, Generic[State]):
    """The content of switches of one target for slices; `State` is what such a switch holds of ours."""

    @abstractmethod
    def content(self, pairs: Sequence[Pair], limits: Limits) -> Mapping[str, State]:
        """Content of each switch, by its name, for all pairs of one source leaf.

        Raises:
            AnabranchError: more slices than a switch can limit.

        """

    @abstractmethod
    def joined(self, parts: Sequence[State]) -> State:
        """All parts as one state; empty where there are none."""

    @abstractmethod
    def holds(self, observed: State, sliced: State) -> bool:
        """Whether a switch forwards all of these slices."""

    @abstractmethod
    def last_label(self, observed: State, prefixes: Sequence[str]) -> int:
        """The highest label towards these prefixes that a switch forwards as a slice; 0 if none."""

    @abstractmethod
    def carried_bps(self, sliced: State, rule_bps: Mapping[RuleKey, float]) -> dict[int, float]:
        """Rate of what left each port through slices, by number of the port, from rates of rules."""
