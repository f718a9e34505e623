"""Fabrics and changes to compare in: kinds, files or tables, each a value of an axis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch._core import Scenario
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.own.override import BALANCE, UNDERNEATH
from anabranch.simulate.runs.load import read_text

FabricGiven = str | Path | Mapping[str, Any]
"""A kind such as `fat-tree`, a TOML file with `[fabric]` and `[[change]]`, or a table of the keys of `[fabric]`."""
ChangesGiven = Mapping[str, Sequence[Mapping[str, Any]]]

ONE_FLOW = '[{ sizes = "1 KB", flows = 1, flows_per_s = 1 }]'
"""Traffic in place of the file's, which need have none."""
WHOLE = "none"
"""Change of a command line that changes nothing."""


def fabric_values(
    given: Sequence[FabricGiven] | Mapping[str, FabricGiven], link: Mapping[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """Keys of the scenario by the fabric's name; a kind alone gets the links of the scenario's fabric.

    Raises:
        AnabranchError: a file cannot be read or has no fabric, or two have the same name.

    """
    named = list(given.items()) if isinstance(given, Mapping) else [(None, one) for one in given]
    values: dict[str, dict[str, Any]] = {}
    for label, one in named:
        if isinstance(one, Mapping):
            name, value = label or str(one.get("kind")), {"fabric": dict(one), "change": []}
        elif Path(one).suffix == ".toml":
            name, value = _of_file(Path(one))
        else:
            name, value = (
                str(one),
                {"fabric": {"kind": str(one), **({"link": dict(link)} if link else {})}, "change": []},
            )
        name = label or name
        if name in values:
            raise AnabranchError(f"fabrics: {name}: is named twice; hint: in Python a dict gives names")
        values[name] = value
    return values


def _of_file(path: Path) -> tuple[str, dict[str, Any]]:
    text = read_text(path)
    table = parse_toml(text, str(path))
    fabric = table.get("fabric")
    if not isinstance(fabric, dict) or "kind" not in fabric:
        raise AnabranchError(
            f"{path}: fabric: there is no table [fabric] with a kind; give a scenario file that has one"
        )
    # Read by itself first, so that an error names the file's line, not a value of an axis.
    Scenario(text, str(path), [(BALANCE, UNDERNEATH), ("traffic", ONE_FLOW)])
    if "file" in fabric:
        fabric["file"] = str((path.parent / str(fabric["file"])).resolve())
    return str(table.get("name", path.stem)), {"fabric": fabric, "change": table.get("change", [])}


def change_values(given: ChangesGiven) -> dict[str, dict[str, Any]]:
    """Keys of the scenario by the name of the changes."""
    return {name: {"change": [dict(one) for one in changes]} for name, changes in given.items()}


def parse_changes(options: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Parses `LINK=down`, `LINK=RATE`, several joined by commas, or `none`; each is one value of the axis.

    Raises:
        AnabranchError: one has another form.

    """
    by_fabric: dict[str, list[dict[str, Any]]] = {}
    for option in options:
        changes = []
        for part in [] if option == WHOLE else option.split(","):
            link, sign, value = (text.strip() for text in part.partition("="))
            if not sign or not link or not (value == "down" or re.match(r"\d", value)):
                raise AnabranchError(
                    f"change: {option}: give LINK=down, LINK=RATE as in leaf0-spine0=2.5Gbps, or {WHOLE} for the "
                    "fabric as built"
                )
            changes.append({"link": link, "set": "down"} if value == "down" else {"link": link, "rate": value})
        by_fabric[option] = changes
    return by_fabric
