"""Results that a crate's program writes into a folder: arrays of NumPy, totals, captures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.files.toml_document import read_toml

if TYPE_CHECKING:
    from anabranch._core import Columns

TOTALS = "totals.toml"
MISSING = "missing"
CAPTURES = "captures"


@dataclass(frozen=True)
class ProgramRun:
    """Results of a program, read from its folder."""

    flows: Columns
    ports: Columns
    queues: Columns
    windows: Columns
    events: Columns
    steps: Columns
    critical: Columns
    requests: Columns
    totals: dict[str, int | float]
    counts: list[tuple[str, int]]
    captures: dict[str, bytes]

    @property
    def threads(self) -> int:
        """Number of threads that simulated."""
        return 1

    @property
    def one_thread(self) -> str | None:
        """Reason why one thread simulated, if several were asked for: programs are asked for one."""
        return None

    @property
    def replay(self) -> None:
        """What replay did: programs are not asked for it."""

    @property
    def flows_total(self) -> int:
        """Number of flows."""
        return len(self.flows["flow"])

    def flow_pieces(self, rows: int) -> Iterator[Columns]:
        """Rows of flows, so many at a time; at least one piece."""
        for first in range(0, max(self.flows_total, 1), rows):
            yield {name: values[first : first + rows] for name, values in self.flows.items()}

    def write_captures(self, folder: str) -> list[str]:
        """Writes the captures; returns their files."""
        for name, content in self.captures.items():
            (Path(folder) / name).write_bytes(content)
        return [str(Path(folder) / name) for name in self.captures]


def read_run(folder: Path) -> ProgramRun:
    """Reads the results of a run."""
    import numpy as np

    tables: dict[str, Columns] = {
        name: {} for name in ("flows", "ports", "queues", "windows", "events", "steps", "critical", "requests")
    }
    listed = read_toml(folder / TOTALS)
    for table, columns in listed["columns"].items():
        for name in columns:
            values = np.load(folder / f"{table}.{name}.npy", allow_pickle=False)
            lacks = folder / f"{table}.{name}.{MISSING}.npy"
            if lacks.exists():
                missing = np.load(lacks, allow_pickle=False)
                values = [None if absent else int(value) for value, absent in zip(values, missing, strict=True)]
            tables[table][name] = values
    captures = {}
    if (folder / CAPTURES).is_dir():
        captures = {path.name: path.read_bytes() for path in sorted((folder / CAPTURES).iterdir())}
    counts = [(row["what"], row["count"]) for row in listed.get("counts", ())]
    return ProgramRun(**tables, totals=listed["totals"], counts=counts, captures=captures)
