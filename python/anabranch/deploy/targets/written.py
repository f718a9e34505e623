"""What was written for a fabric's switches, as plain values: the part `files` of a target returns it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError


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
    """Files written for the switches of a fabric, and notes for the reader."""

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


def refuse_foreign(folder: Path, record: str) -> None:
    """Refuses a folder with files that were not written here: `record` is one that every folder has."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / record).is_file():
        raise AnabranchError(f"folder: {folder}: has files of others; name one that is new, as in --folder out")
