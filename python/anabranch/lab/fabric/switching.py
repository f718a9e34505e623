"""Kinds of a lab's switches: what makes nodes of a scenario forward, over devices that stand already."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Protocol

from anabranch.errors import AnabranchError
from anabranch.lab.fabric.blueprint import Blueprint
from anabranch.lab.fabric.record import Record
from anabranch.targets import registry


class Switching(Protocol):
    """The switches of one lab, in the namespace that has all ends of theirs."""

    def check(self) -> None:
        """Refuses what such switches cannot be; before anything is made.

        Raises:
            AnabranchError: it names the option, and the mend.

        """
        ...

    def check_machine(self) -> None:
        """Refuses a machine that cannot have such switches; after `check`, and before anything is made.

        Raises:
            AnabranchError: a program or a privilege is missing.

        """
        ...

    def make(self) -> None:
        """Makes what switches need before there are any; devices are there, down, and without a rate.

        Raises:
            AnabranchError: something is refused.

        """
        ...

    def add(self, switch: str) -> None:
        """Makes a switch, which forwards nothing yet.

        Raises:
            AnabranchError: it is refused.

        """
        ...

    def ready(self) -> None:
        """Ends the making, once devices are shaped and up.

        Raises:
            AnabranchError: something is not as it must be.

        """
        ...

    def start(self) -> None:
        """Starts what has ended of them.

        Raises:
            AnabranchError: it does not start.

        """
        ...

    def ended(self) -> list[str]:
        """Processes of them that have ended and should not have."""
        ...

    def forward(self, ways: Mapping[str, Mapping[str, str]]) -> None:
        """Has each switch send each prefix by one device, given by switch and prefix.

        Raises:
            AnabranchError: a switch refuses.

        """
        ...

    def rated(self, device: str, rate_bps: int) -> None:
        """Tells controllers of a port's new rate.

        Raises:
            AnabranchError: it cannot be told.

        """
        ...

    def policy(self) -> dict[str, Any]:
        """`[policy]` of `anabranch control`'s file."""
        ...

    def place(self, switch: str) -> dict[str, Any]:
        """Target options of a switch, as keys of `[switch.NAME]` in that file."""
        ...

    def version(self) -> str:
        """Name and version of what forwards, for people."""
        ...

    def cpu_ns(self) -> int | None:
        """Processor time that forwarding has taken so far; None where it is nobody's alone."""
        ...


def switching(record: Record, blueprint: Blueprint) -> Switching:
    """The switches of a lab, made or not.

    Raises:
        AnabranchError: there is no such kind.

    """
    made: Switching = part(record.switch, "lab").SWITCHING(record, blueprint)
    return made


def kinds() -> list[str]:
    """The targets that labs have switches of, the default first."""
    return [name for name in registry.TARGETS if registry.target(name).descriptor.lab_switches]


def part(name: str, what: str) -> ModuleType:
    """A module of a target that a lab has switches of: `lab` with `SWITCHING`, or `lab_forwarding`.

    Raises:
        AnabranchError: there is no such kind.

    """
    if name not in kinds():
        raise AnabranchError(f"switch: {name}: no kind of switch; take {' or '.join(kinds())}")
    return registry.part(name, what)
