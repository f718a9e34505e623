"""List of load balancers that scenarios can name under `routing.balance`, and other systems in which each runs."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch import _core
from anabranch.splitter import techniques

TECHNIQUE_OF = {"weighted": "min-move"}
"""Load balancers whose technique in the library has another name."""

TARGET_OF = {"scoring": "Open vSwitch", "valo": "Open vSwitch", "weighted": "Linux next hops"}
"""Switches that make the same choice: `anabranch plan` writes their commands."""


@dataclass(frozen=True)
class Parameter:
    """A key of one load balancer, below `routing` or `transport`."""

    key: str
    wants: str
    default: str
    meaning: str


@dataclass(frozen=True)
class LoadBalancer:
    """One load balancer. `needs` names the capabilities that its environment must give."""

    setting: str
    """Key of a scenario that names it: `routing.balance`, or `transport.kind`."""
    name: str
    granularity: str
    decided_by: str
    needs: tuple[str, ...]
    fits_kernel: bool
    """Whether the kernel's datapath gives a program everything it needs."""
    page: str
    parameters: tuple[Parameter, ...]

    @property
    def published(self) -> str:
        """Publication and year, in two words: the parentheses in the page's title."""
        title = self.page.split("\n", 1)[0]
        return title.rpartition("(")[2].rstrip(")")

    @property
    def summary(self) -> str:
        """Description in a line."""
        paragraphs = [part.strip() for part in self.page.split("\n\n")]
        return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""

    @property
    def source(self) -> str:
        """Publication."""
        _, _, source = self.page.partition("## Source")
        return " ".join(source.split())

    @property
    def runs_in(self) -> tuple[str, ...]:
        """Systems in which it runs."""
        library = TECHNIQUE_OF.get(self.name, self.name) in {technique.name for technique in techniques()}
        places = ["simulator"] + ["library"] * library
        return (*places, *([TARGET_OF[self.name]] if self.name in TARGET_OF else []))


def schemes() -> list[LoadBalancer]:
    """All load balancers of the simulator, in the order in which tables show them."""
    return [
        LoadBalancer(key, name, granularity, decider, tuple(needs), kernel, page, tuple(Parameter(*p) for p in own))
        for key, name, granularity, decider, needs, kernel, page, own in _core.schemes()
    ]
