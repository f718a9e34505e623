"""A comparison as a study: the same scenario under each scheme, over loads, fabrics, changes and seeds."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.report.comparison.schemes import Entry, Place
from anabranch.simulate.runs.literal import document, key_text, literal
from anabranch.simulate.study.study import Study, load_study

SCHEME, LOAD, SIZES, FABRIC, CHANGE = "scheme", "traffic.load", "traffic.sizes", "fabric", "change"
"""Axes. The scheme comes first: it is what is compared."""
SCHEMES_FOLDER = "schemes"
"""Folder, beside the study file, of schemes that stood in a script."""
IN_ERRORS = "compare"
"""Name of the study in errors, while it has no file."""
DEFAULT_LOADS = (0.3, 0.5, 0.7)
DEFAULT_SCENARIO: dict[str, Any] = {
    "name": "leaf-spine",
    "fabric": {
        "kind": "leaf-spine",
        "leaves": 4,
        "spines": 4,
        "hosts_per_leaf": 8,
        "link": {"rate": "10 Gbps", "delay": "1 us", "buffer": "300 KB", "ecn": "65 packets"},
    },
    "traffic": [{"sizes": "web-search", "load": 0.5, "duration": "150 ms"}],
    "transport": {"kind": "dctcp"},
}
"""Scenario of a comparison that names none: the fabric of the README, 150 ms of web-search flows over DCTCP."""


@dataclass(frozen=True)
class Design:
    """What is compared, in what."""

    name: str
    entries: Sequence[Entry]
    scenario: Path | Mapping[str, Any]
    """File, or keys."""
    settings: Mapping[str, Any]
    """Keys of the scenario that all cells change."""
    loads: Sequence[float] | None
    sizes: Sequence[str]
    fabrics: Mapping[str, Mapping[str, Any]]
    changes: Mapping[str, Mapping[str, Any]]
    seeds: Sequence[int]

    @property
    def announcement(self) -> str:
        """Number of runs, by what they differ in."""
        several = {
            "fabric": self.fabrics,
            "change": self.changes,
            "distribution of sizes": self.sizes,
            "load": self.loads or (),
            "seed": self.seeds,
        }
        factors = [f"{len(self.entries)} schemes"]
        runs = len(self.entries)
        for word, values in several.items():
            if values:
                first, space, rest = word.partition(" ")
                factors.append(f"{len(values)} {first}{'s' if len(values) > 1 else ''}{space}{rest}")
                runs *= len(values)
        return f"{' x '.join(factors)} = {runs} runs, {self.entries[0].label} is the baseline"

    def study(self) -> Study:
        """The study, with files where they are now.

        Raises:
            AnabranchError: a key or a value is not as it must be.

        """
        with TemporaryDirectory(prefix="anabranch-compare-") as scratch:
            folder = Path(scratch)
            self.write_schemes(folder)
            path = folder / "study.toml"
            path.write_text(self.text(lambda file: str(_beside(file, folder).resolve())), encoding="utf-8")
            try:
                study = load_study(path)
            except AnabranchError as error:
                raise AnabranchError(str(error).replace(str(path), IN_ERRORS)) from None
        file = study.scenario_file if isinstance(self.scenario, Path) else f"{IN_ERRORS}: scenario"
        if isinstance(self.scenario, Path):
            file = os.path.relpath(file)
        return replace(study, file=IN_ERRORS, scenario_file=file)

    def write_schemes(self, folder: Path) -> None:
        """Writes the schemes that have no file of their own."""
        for entry in self.entries:
            if entry.own is not None and entry.text:
                (folder / SCHEMES_FOLDER).mkdir(parents=True, exist_ok=True)
                _beside(entry.own[1], folder).write_text(entry.text, encoding="utf-8")

    def files(self, folder: Path) -> str:
        """Text of the study file in `folder`, with paths relative to it."""
        return self.text(lambda file: os.path.relpath(_beside(file, folder), folder))

    def text(self, place: Place) -> str:
        """Text of the study file, paths written by `place`."""
        scenario = place(self.scenario.resolve()) if isinstance(self.scenario, Path) else None
        head = {"name": self.name, "seeds": list(self.seeds), **({"scenario": scenario} if scenario else {})}
        parts = [document(head)]
        if not isinstance(self.scenario, Path):
            parts.append(f"[scenario]\n{document(self.scenario)}")
        values = {entry.label: _nested({**entry.value(place), **self.settings}) for entry in self.entries}
        parts.append(f"[axes.{SCHEME}]\n{document(values)}")
        for axis, named in ((FABRIC, self.fabrics), (CHANGE, self.changes)):
            if named:
                parts.append(f"[axes.{axis}]\n{document(named)}")
        of_traffic: dict[str, list[Any]] = {SIZES: [_sizes(one) for one in self.sizes]} if self.sizes else {}
        if self.loads is not None:
            of_traffic[LOAD] = list(self.loads)
        if of_traffic:
            lines = [f"{key_text(key.partition('.')[2])} = {literal(values)}" for key, values in of_traffic.items()]
            parts.append("\n".join(["[axes.traffic]", *lines, ""]))
        return "\n".join(parts)


def check_name(name: str) -> None:
    """Refuses names that are no name of a folder.

    Raises:
        AnabranchError: it is none.

    """
    if not re.fullmatch(r"[\w.-]+", name):
        raise AnabranchError(f"name: {name}: names a folder; use letters, digits, dots and dashes")


def _beside(file: Path, folder: Path) -> Path:
    """A file where it stands, or where one that is to be written will stand."""
    return file if file.is_absolute() else folder / SCHEMES_FOLDER / file


def _sizes(given: str) -> str | dict[str, str]:
    """Value of `traffic.sizes`; a file's path is whole, for the study file stands elsewhere."""
    return {"file": str(Path(given).resolve())} if given.endswith(".csv") else given


def _nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as tables in tables."""
    nested: dict[str, Any] = {}
    for key, value in keys.items():
        *tables, last = key.split(".")
        inner = nested
        for table in tables:
            inner = inner.setdefault(table, {})
        inner[last] = value
    return nested
