"""The list of load balancers: what scenarios can name under `routing.balance`, and where else each runs."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch import _core
from anabranch.splitter import techniques

TECHNIQUE_OF = {"weighted": "min-move"}
"""Load balancers whose technique in the library has another name."""

TARGET_OF = {"scoring": "Open vSwitch", "valo": "Open vSwitch", "weighted": "Linux next hops"}
"""Switches that make the same choice: `anabranch plan` writes the commands."""


@dataclass(frozen=True)
class Parameter:
    """A key of a load balancer's own, below `routing` or `transport`."""

    key: str
    wants: str
    default: str
    meaning: str


@dataclass(frozen=True)
class LoadBalancer:
    """One load balancer. `needs` names what the place it runs in must give."""

    setting: str
    """The key of a scenario that names it: `routing.balance`, or `transport.kind`."""
    name: str
    granularity: str
    decided_by: str
    needs: tuple[str, ...]
    fits_kernel: bool
    """Whether a program in the kernel's datapath has all it needs."""
    page: str
    parameters: tuple[Parameter, ...]

    @property
    def published(self) -> str:
        """Where and when, in two words: what the page's title has in parentheses."""
        title = self.page.split("\n", 1)[0]
        return title.rpartition("(")[2].rstrip(")")

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        paragraphs = [part.strip() for part in self.page.split("\n\n")]
        return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""

    @property
    def source(self) -> str:
        """Where it is published."""
        _, _, source = self.page.partition("## Source")
        return " ".join(source.split())

    @property
    def runs_in(self) -> tuple[str, ...]:
        """Where it runs."""
        library = TECHNIQUE_OF.get(self.name, self.name) in {technique.name for technique in techniques()}
        places = ["simulator"] + ["library"] * library
        return (*places, *([TARGET_OF[self.name]] if self.name in TARGET_OF else []))


def schemes() -> list[LoadBalancer]:
    """Every load balancer of the simulator, in the order in which tables show them."""
    return [
        LoadBalancer(key, name, granularity, decider, tuple(needs), kernel, page, tuple(Parameter(*p) for p in own))
        for key, name, granularity, decider, needs, kernel, page, own in _core.schemes()
    ]
