"""What was written for a fabric's switches, as plain values: the part `files` of a target returns it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from anabranch.files.errors import AnabranchError
from anabranch.files.units import count

PORTS_SHOWN = 6


@dataclass(frozen=True)
class WrittenTable:
    """What was written, for people."""

    title: str
    columns: Sequence[tuple[str, bool]]
    """Header of each column, and whether it holds numbers."""
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    """What the reader should know."""


class WrittenFiles(Protocol):
    """Files written for the switches of a fabric."""

    @property
    def folder(self) -> str:
        """The folder that has them."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """Everything but the folder's name, as plain data."""
        ...

    @property
    def table(self) -> WrittenTable:
        """What each switch has."""
        ...


@dataclass(frozen=True)
class WrittenSwitch:
    """One switch."""

    name: str
    ports: Mapping[str, int]
    """Number of the port towards each neighbour; of parallel links, with the link's number behind `#`."""
    lists: Mapping[tuple[str, str], Sequence[int]]
    """Ports in turn for each pair of leaves."""


@dataclass(frozen=True)
class Written:
    """Lists of next hops, written for the switches of a fabric (`WrittenFiles`)."""

    balance: str
    """Load balancer whose lists the switches follow."""
    folder: str
    switches: Sequence[WrittenSwitch]

    @property
    def record(self) -> dict[str, Any]:
        """Everything but the folder's name, as plain data."""
        return {
            "balance": self.balance,
            "switches": [
                {
                    "name": switch.name,
                    "ports": dict(switch.ports),
                    "lists": [
                        {"from": source, "to": destination, "ports": list(ports)}
                        for (source, destination), ports in switch.lists.items()
                    ],
                }
                for switch in self.switches
            ],
        }

    @property
    def table(self) -> WrittenTable:
        """Each switch with its ports, the pairs of leaves that send through it, and the turns of their lists."""
        title = f"{self.folder}: {count(len(self.switches))} switches, lists of {self.balance}"
        rows = []
        for switch in self.switches:
            ports = [f"{number}: {neighbour}" for neighbour, number in switch.ports.items()]
            more = f", {count(len(ports) - PORTS_SHOWN)} more" if len(ports) > PORTS_SHOWN else ""
            turns = sum(map(len, switch.lists.values()))
            rows.append((switch.name, ", ".join(ports[:PORTS_SHOWN]) + more, count(len(switch.lists)), count(turns)))
        return WrittenTable(title, (("switch", False), ("ports", False), ("pairs", True), ("turns", True)), rows)


def refuse_foreign(folder: Path, record: str) -> None:
    """Refuses a folder with files that were not written here: `record` is one that every folder has."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / record).is_file():
        raise AnabranchError(f"folder: {folder}: has files of others; name one that is new, as in --folder out")
