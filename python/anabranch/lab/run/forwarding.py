"""Forwarding of a lab's switches for a scenario's `[routing]`: planned as the controller plans, installed here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.file import parse
from anabranch.deploy.control.rules import Weigher, Weights
from anabranch.lab.fabric.switching import part
from anabranch.lab.fabric.topology import Lab

AskedWeights = str | Mapping[str, int]
"""`equal`, `capacity`, or as the scenario writes them: `leaf0>spine1` and its weight."""


class Switches(ABC):
    """Forwarding state of a lab's switches, made from the state of its links."""

    def __init__(self, lab: Lab, asked: AskedWeights, words: str) -> None:
        self.lab = lab
        self.words = words
        """How switches split, for people."""
        self.file: FabricFile = parse(lab.fabric_file.read_text(encoding="utf-8"), str(lab.fabric_file))
        self._asked = asked
        self._weigher = Weigher(self.file.topology, by_capacity=asked == "capacity")
        self.rate_bps = list(self.file.topology.rate_bps)
        """By port of the topology; change it and `install`."""
        self.up = [True] * len(self.rate_bps)

    @abstractmethod
    def install(self) -> int:
        """Brings every switch to what the links' state asks for; returns how many rules or groups that took.

        Raises:
            AnabranchError: a switch does not answer, or refuses.

        """

    @abstractmethod
    def notice(self) -> None:
        """Has each switch leave out ports of its own that have died, before others know.

        Raises:
            AnabranchError: a switch refuses.

        """

    @abstractmethod
    def clear(self) -> int:
        """Takes away all that `install` put there."""

    def weights(self) -> Weights:
        """Weights by switch and leaf that it leads to."""
        weighed = self._weigher.weigh(self.up, self.rate_bps)
        return weighed if isinstance(self._asked, str) else self._written(weighed, self._asked)

    def _written(self, weights: Weights, written: Mapping[str, int]) -> Weights:
        """Weights by the name of the port, 1 where none is written; parallel links share their neighbour's."""
        ends = self.file.topology.ends

        def weight(port: int) -> int:
            return int(written.get(f"{ends[port].node}>{ends[port].neighbour}", 1))

        return {
            switch: {leaf: tuple((port, weight(port)) for port, _ in members) for leaf, members in towards.items()}
            for switch, towards in weights.items()
        }


def words_of(asked: AskedWeights) -> str:
    """Weights in words."""
    return f"weights {asked if isinstance(asked, str) else 'as written'}"


def check(routing: Mapping[str, Any], switch: str, recipe: str = "") -> None:
    """Whether switches of a kind do what a resolved `[routing]` says, or a recipe instead.

    Raises:
        AnabranchError: they do not; it says what they do.

    """
    part(switch, "forwarding").choose(routing, recipe)


def switches_of(lab: Lab, routing: Mapping[str, Any], recipe: str = "") -> Switches:
    """Switches of a lab, for a resolved `[routing]`, whose times are the lab's divided by its scale.

    Raises:
        AnabranchError: as `check`.

    """
    how = part(lab.record.switch, "forwarding")
    switches: Switches = how.SWITCHES(lab, how.choose(routing, recipe))
    return switches
