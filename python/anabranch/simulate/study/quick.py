"""Table `[quick]` of a study: the same study made small, for a result in minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.files.settings import Settings
from anabranch.simulate.study.more_seeds import SEEDS
from anabranch.simulate.study.named_labels import named_labels


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


def read_quick(file: str, given: object, known: Mapping[str, Sequence[Any]]) -> Quick:
    """Reads the table; `known` has the labels of every axis.

    Raises:
        AnabranchError: a key is unknown, a value is not as it must be, or the study does not have an axis or a label.

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
    return Quick(note, seeds, scenario, named_labels(f"{file}: quick.axes", axes, known))
