"""Results of a run, as frames."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.folder import read_manifest
from anabranch.simulate.runs.html_table import html_table, titled
from anabranch.simulate.runs.pandas_frame import pandas_frame

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from rich.table import Table

    from anabranch.simulate.stats.size_classes import SizeClass
    from anabranch.simulate.stats.window import Window


TABLES = ("flows", "ports", "queues", "windows", "events", "steps", "critical", "requests")

FLOWS_READ_MAX = 1 << 20
"""Flows up to which a table is read as a whole for sums over it: 0.2 GB."""


class Run:
    """A run's folder. Frames are read when they are first used; `manifest["columns"]` describes columns."""

    def __init__(self, folder: str | Path) -> None:
        manifest = read_manifest(folder)
        if manifest is None:
            raise AnabranchError(f"{folder}: no complete run; give a folder that `anabranch run` has written")
        self.folder = Path(folder)
        self.manifest: dict[str, Any] = manifest

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.manifest["name"])

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow."""
        return self._read("flows")

    @property
    def scanned_flows(self) -> pl.DataFrame | pl.LazyFrame:
        """The same rows; where there are more than a million, a lazy frame that reads what is asked of it."""
        if int(self.manifest["flows_total"]) <= FLOWS_READ_MAX or "flows" in vars(self):
            return self.flows
        import polars as pl

        return pl.scan_parquet(self._file("flows"))

    @cached_property
    def ports(self) -> pl.DataFrame:
        """One row per port and interval."""
        return self._read("ports")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """Backlog of the ports that the scenario chose, one row per sample."""
        return self._read("queues")

    @cached_property
    def windows(self) -> pl.DataFrame:
        """Congestion window and rate of the flows that the scenario chose, one row per change."""
        return self._read("windows")

    @cached_property
    def events(self) -> pl.DataFrame:
        """Drops, losses, marks and changes of path of single packets, where the scenario asks; one row per event."""
        return self._read("events")

    @property
    def has_steps(self) -> bool:
        """Whether the run had a workload graph."""
        return "steps.parquet" in self.manifest["files"]

    @cached_property
    def steps(self) -> pl.DataFrame:
        """Completion of jobs, steps and collectives of workload graphs, one row each."""
        return self._read("steps")

    @cached_property
    def critical(self) -> pl.DataFrame:
        """Critical path of each workload graph: what its end waited for, a row per message or computing."""
        return self._read("critical")

    @property
    def has_requests(self) -> bool:
        """Whether a workload graph of the run served requests."""
        return "requests.parquet" in self.manifest["files"]

    @cached_property
    def requests(self) -> pl.DataFrame:
        """Requests that workload graphs of inference served: arrival, tokens and times, one row each."""
        return self._read("requests")

    @property
    def window(self) -> Window:
        """Time in which flows begin that count, as the scenario's `measure` says."""
        from anabranch.simulate.stats.window import Window

        measure = self.manifest.get("measure", {})
        end_ns = measure.get("to_ns")
        return Window(measure.get("from_ns", 0.0), math.inf if end_ns is None else end_ns)

    @property
    def measured_flows(self) -> pl.DataFrame:
        """The flows that count: those that began in the window of `measure`."""
        from anabranch.simulate.stats.window import measured

        return measured(self.flows)

    @property
    def measured_ports(self) -> pl.DataFrame:
        """Ports within the window of `measure`."""
        from anabranch.simulate.stats.window import clipped

        return clipped(self.ports, self.window)

    @property
    def measured_queues(self) -> pl.DataFrame:
        """Samples of queues within the window of `measure`."""
        import polars as pl

        return self.queues.filter(pl.col("time_ns").is_between(self.window.from_ns, self.window.to_ns, closed="left"))

    @cached_property
    def sums(self) -> dict[str, int]:
        """Flows, unfinished ones, and packets dropped, lost and marked.

        With a window, packets are segments of the flows that count; without one, all frames of the run.
        """
        counted = ("dropped_packets", "lost_packets", "marked_packets")
        if self.window.whole:
            flows, unfinished = self.manifest["flows_total"], self.manifest["flows_unfinished"]
            return {"flows": flows, "unfinished": unfinished, **{name: self.manifest[name] for name in counted}}
        import polars as pl

        from anabranch.simulate.stats.lazily import collected, columns
        from anabranch.simulate.stats.window import measured

        flows = measured(self.scanned_flows)
        known = [name for name in counted if name in columns(flows)]
        total, finished, *sums = collected(flows.select(pl.len(), pl.col("finished").sum(), pl.col(known).sum())).row(0)
        # A lab does not know whose segments a queue dropped.
        counted_sums = {name: self.manifest[name] for name in counted} | dict(zip(known, sums, strict=True))
        return {"flows": total, "unfinished": total - finished} | {
            name: int(counted_sums[name] or 0) for name in counted
        }

    def advice(self, classes: Sequence[SizeClass] | None = None) -> list[str]:
        """Sentences on what a longer run would make better: few flows, a load not reached, queues that still grow."""
        from anabranch.simulate.runs.advice import Seen, advice
        from anabranch.simulate.stats.window import measured

        offered, flows = self.manifest["offered_load"], measured(self.scanned_flows)
        seen = Seen(flows, self.measured_ports, self.topology, offered, self.window.from_ns)
        return advice(seen, classes)

    def to_pandas(self, table: str = "flows") -> pd.DataFrame:
        """A table as a frame of pandas: `flows`, `ports`, `steps`, `requests`, or another attribute that is one.

        Raises:
            AnabranchError: pandas is not installed, or there is no such table.

        """
        return pandas_frame(getattr(self, choose(table, TABLES, "to_pandas")))

    def trace(self, path: str | Path) -> None:
        """Writes the run as a trace for Perfetto (https://ui.perfetto.dev): docs/trace.md.

        Raises:
            AnabranchError: perfetto is not installed, or the file cannot be written.

        """
        from anabranch.simulate.runs.timeline.write import write_timeline

        tables = [name for name in TABLES if f"{name}.parquet" in self.manifest["files"]]
        write_timeline(path, self.manifest, self.topology, {name: getattr(self, name) for name in tables})

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario: every setting, the defaults included."""
        scenario: dict[str, Any] = self._parsed("scenario.toml", lambda text: parse_toml(text, "scenario.toml"))
        return scenario

    @cached_property
    def topology(self) -> dict[str, Any]:
        """Nodes, ports and changes, as columns."""

        def columns(text: str) -> dict[str, Any]:
            topology: dict[str, Any] = json.loads(text)
            # Results from before links had costs: a path is as long as its links are many.
            topology["ports"].setdefault("cost", [1] * len(topology["ports"]["from"]))
            return topology

        return self._parsed("topology.json", columns)

    def _parsed(self, name: str, parse: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
        try:
            return parse((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise _damaged(self.folder / name, error) from None

    def _read(self, table: str) -> pl.DataFrame:
        import polars as pl

        file = self._file(table)
        try:
            return pl.read_parquet(file)
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _damaged(file, error) from None

    def _file(self, table: str) -> Path:
        if f"{table}.parquet" not in self.manifest["files"]:
            raise AnabranchError(f"{self.folder}: no {table} were recorded; name some in the scenario and run it again")
        return self.folder / f"{table}.parquet"

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        """Table by size class, for notebooks."""
        from anabranch.simulate.runs.class_table import class_rows

        header, rows = class_rows(self.scanned_flows)
        cells = [[html.escape(cell) for cell in row] for row in rows]
        return titled(self.name, self.folder) + html_table([html.escape(cell) for cell in header], cells)

    def __rich__(self) -> Table:
        """Table by size class, for the terminal."""
        from anabranch.files.terminal.plain_table import plain_table
        from anabranch.simulate.runs.class_table import class_rows

        header, rows = class_rows(self.scanned_flows)
        kept = [index for index, cell in enumerate(header) if cell.rpartition(" ")[2] not in ("p50", "p95", "p99.9")]
        table = plain_table(*((header[index], index > 0) for index in kept))
        table.title = f"{self.name}  {self.folder}"
        for row in rows:
            table.add_row(*(row[index] for index in kept))
        return table


def _damaged(file: Path, error: BaseException) -> AnabranchError:
    """Error of a file of results that cannot be read, in a line."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return AnabranchError(f"{file}: damaged: {reason}; run the scenario again, with --again")
