"""Results of a run, as frames."""

from __future__ import annotations

import html
import json
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError
from anabranch.runs.folder import read_manifest

if TYPE_CHECKING:
    import polars as pl

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


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
        """Congestion window of the flows that the scenario chose, one row per change."""
        return self._read("windows")

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario: every setting, the defaults included."""
        scenario: dict[str, Any] = tomllib.loads((self.folder / "scenario.toml").read_text(encoding="utf-8"))
        return scenario

    @cached_property
    def topology(self) -> dict[str, Any]:
        """Nodes, ports and changes, as columns."""
        topology: dict[str, Any] = json.loads((self.folder / "topology.json").read_text(encoding="utf-8"))
        return topology

    def _read(self, table: str) -> pl.DataFrame:
        import polars as pl

        if f"{table}.parquet" not in self.manifest["files"]:
            raise AnabranchError(f"{self.folder}: no {table} were recorded; name some in the scenario and run it again")
        return pl.read_parquet(self.folder / f"{table}.parquet")

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        """Table by size class, for notebooks."""
        from anabranch.runs.class_table import class_rows

        header, rows = class_rows(self.flows)
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return (
            f"<p><b>{html.escape(self.name)}</b> <code>{html.escape(str(self.folder))}</code></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def open(folder: str | Path) -> Run:  # noqa: A001
    """Opens the results of a run.

    Raises:
        AnabranchError: the folder is no complete run.

    """
    return Run(folder)
