"""Table `[quick]` of a study: the same study made small, for a result in minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.settings import Settings

SEEDS = "how many, or a list of them"
"""Values of keys of seeds."""


@dataclass(frozen=True)
class Quick:
    """Changes of a quick study."""

    note: str = ""
    """Difference from the full study, for people."""
    seeds: object = None
    scenario: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the scenario that are changed."""
    axes: Mapping[str, list[Any]] = field(default_factory=dict)
    """Labels that are kept, by axis."""


def read_quick(file: str, given: object) -> Quick:
    """Reads the table.

    Raises:
        AnabranchError: a key is unknown, or a value is not as it must be.

    """
    settings = Settings(file, "quick", given)
    note = settings.given("note", "", "What is smaller, for the reader.", values="text", otherwise="none")
    seeds = settings.given("seeds", None, "Seeds instead of the study's.", values=SEEDS, otherwise="the study's")
    scenario = settings.given(
        "scenario", {}, "Keys of the scenario that change.", values="a table of keys", otherwise="none"
    )
    axes = settings.given("axes", {}, "Values that stay, by axis.", values="a table of lists", otherwise="all")
    settings.end()
    for key, value, kind in (("note", note, str), ("scenario", scenario, dict), ("axes", axes, dict)):
        if not isinstance(value, kind):
            settings.refuse(key, value, f"give a {'text' if kind is str else 'table'}")
    return Quick(note, seeds, scenario, dict(_lists(file, axes, "")))


def _lists(file: str, table: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, list[Any]]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _lists(file, value, f"{name}.")
        elif isinstance(value, list) and value:
            yield name, value
        else:
            raise AnabranchError(f"{file}: quick.axes.{name}: {value}: give a list of the axis' values that stay")


def kept(file: str, axes: Mapping[str, list[Any]], quick: Quick, label: Callable[[Any], Any]) -> dict[str, list[Any]]:
    """Keeps only some values of axes; `label` names a value.

    Raises:
        AnabranchError: the study does not have an axis or a value.

    """
    for name, labels in quick.axes.items():
        if name not in axes:
            raise AnabranchError(f"{file}: quick.axes.{name}: no such axis; {nearest(name, list(axes))}")
        known = [label(value) for value in axes[name]]
        for one in labels:
            if one not in known:
                raise AnabranchError(
                    f"{file}: quick.axes.{name}: {one}: no value of the axis; it has {', '.join(map(str, known))}"
                )
    return {
        name: [value for value in values if name not in quick.axes or label(value) in quick.axes[name]]
        for name, values in axes.items()
    }
