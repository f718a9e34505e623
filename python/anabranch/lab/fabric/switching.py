"""Kinds of a lab's switches: what makes nodes of a scenario forward, over devices that stand already."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from anabranch.deploy.targets import registry
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.blueprint import Blueprint
from anabranch.lab.fabric.record import Record


class Switching(ABC):
    """The switches of one lab, in the namespace that has all ends of theirs."""

    def __init__(self, record: Record, blueprint: Blueprint) -> None:
        """Makes nothing yet."""
        self._record, self._blueprint = record, blueprint

    @abstractmethod
    def check(self) -> None:
        """Refuses what such switches cannot be; before anything is made.

        Raises:
            AnabranchError: it names the option, and a hint.

        """

    @abstractmethod
    def check_machine(self) -> None:
        """Refuses a machine that cannot have such switches; after `check`, and before anything is made.

        Raises:
            AnabranchError: a program or a privilege is missing.

        """

    @abstractmethod
    def make(self) -> None:
        """Makes what switches need before there are any; devices are there, down, and without a rate.

        Raises:
            AnabranchError: something is refused.

        """

    @abstractmethod
    def add(self, switch: str) -> None:
        """Makes a switch, which forwards nothing yet.

        Raises:
            AnabranchError: it is refused.

        """

    @abstractmethod
    def ready(self) -> None:
        """Ends the making, once devices are shaped and up.

        Raises:
            AnabranchError: something is not as it must be.

        """

    @abstractmethod
    def start(self) -> None:
        """Starts what has ended of them.

        Raises:
            AnabranchError: it does not start.

        """

    @abstractmethod
    def ended(self) -> list[str]:
        """Processes of them that have ended and should not have."""

    @abstractmethod
    def forward(self, next_hops: Mapping[str, Mapping[str, str]]) -> None:
        """Has each switch send each prefix by one device, given by switch and prefix.

        Raises:
            AnabranchError: a switch refuses.

        """

    @abstractmethod
    def rated(self, device: str, rate_bps: int) -> None:
        """Tells controllers of a port's new rate.

        Raises:
            AnabranchError: it cannot be told.

        """

    @abstractmethod
    def policy(self) -> dict[str, Any]:
        """`[policy]` of `anabranch control`'s file."""

    @abstractmethod
    def switch_options(self, switch: str) -> dict[str, Any]:
        """Target options of a switch, as keys of `[switch.NAME]` in that file."""

    @abstractmethod
    def version(self) -> str:
        """Name and version of what forwards, for people."""

    @abstractmethod
    def cpu_ns(self) -> int | None:
        """Processor time that forwarding has taken so far; None where it is nobody's alone."""

    @classmethod
    def remove_rest(cls, namespaces: Sequence[str], mark: str) -> None:
        """Removes what outlives the processes and namespaces of a lab, whatever kind its switches are of."""
        del namespaces, mark

    @classmethod
    def lost_labs(cls) -> list[str]:
        """Names of labs of which something is left and no record."""
        return []

    @classmethod
    def remove_lost(cls, name: str) -> bool:
        """Removes what is left of a lab without a record; whether there was anything."""
        del name
        return False


def switching(record: Record, blueprint: Blueprint) -> Switching:
    """The switches of a lab, made or not.

    Raises:
        AnabranchError: there is no such kind.

    """
    return _class(record.switch)(record, blueprint)


def _class(kind: str) -> type[Switching]:
    kind_class: type[Switching] = part(kind, "switching").SWITCHING
    return kind_class


def remove_rest(namespaces: Sequence[str], mark: str) -> None:
    """Removes what switches of any kind leave behind when a lab's processes have ended; before its namespaces go.

    Raises:
        AnabranchError: something cannot be removed.

    """
    for kind in kinds():
        _class(kind).remove_rest(namespaces, mark)


def lost_labs() -> list[str]:
    """Names of labs of which something is left and no record."""
    return sorted({name for kind in kinds() for name in _class(kind).lost_labs()})


def remove_lost(name: str) -> bool:
    """Removes what is left of a lab without a record; whether there was anything."""
    # All of them, whatever the first had.
    removed = [_class(kind).remove_lost(name) for kind in kinds()]
    return any(removed)


def kinds() -> list[str]:
    """The targets that labs have switches of, the default first."""
    return [name for name in registry.TARGETS if importlib.util.find_spec(f"anabranch.lab.switches.{name}")]


def part(name: str, what: str) -> ModuleType:
    """A module of `lab/switches/NAME`: `switching` with `SWITCHING`, or `forwarding` with `choose` and `SWITCHES`.

    Raises:
        AnabranchError: there is no such kind; of a target that labs cannot have, with its reason.

    """
    if name not in registry.TARGETS:
        raise AnabranchError(f"switch: {name}: no kind of switch; take {' or '.join(kinds())}")
    if name not in kinds():
        registry.target(name).refuse("lab")
    return importlib.import_module(f"anabranch.lab.switches.{name}.{what}")
