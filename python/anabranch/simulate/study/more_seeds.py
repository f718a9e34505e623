"""Tables `[[more_seeds]]` of a study: points that have more seeds than the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.settings import REQUIRED, Settings
from anabranch.simulate.study.named_labels import named_labels

SEEDS = 'how many, a list of them, or text as in "11:20"'
"""Values of keys of seeds."""


@dataclass(frozen=True)
class MoreSeeds:
    """Seeds of some points, beside those of all."""

    seeds: list[int]
    at: Mapping[str, list[Any]]
    """Labels by axis; an axis that it does not name counts with all of its values."""

    def has(self, labels: Mapping[str, Any]) -> bool:
        """Whether a point is one of them."""
        return all(labels[axis] in named for axis, named in self.at.items())


def read_more_seeds(
    file: str, given: object, known: Mapping[str, Sequence[Any]], read_seeds: Callable[[str, object], list[int]]
) -> list[MoreSeeds]:
    """Reads the tables; `known` has the labels of every axis.

    Raises:
        AnabranchError: a key is unknown, a value is not as it must be, or the study does not have an axis or a label.

    """
    tables = given if isinstance(given, list) else [given]
    return [_read(file, f"more_seeds.{number}", table, known, read_seeds) for number, table in enumerate(tables)]


def _read(
    file: str,
    path: str,
    given: object,
    known: Mapping[str, Sequence[Any]],
    read_seeds: Callable[[str, object], list[int]],
) -> MoreSeeds:
    settings = Settings(file, path, given, form="more_seeds")
    seeds = settings.given(
        "seeds", None, "Seeds of these points, beside those of all.", values=SEEDS, otherwise=REQUIRED
    )
    at = settings.given(
        "at",
        None,
        'The points, as in `{ traffic.load = [0.4], fabric = ["whole"] }`; of an axis that it does not name, '
        "all values.",
        values="a table of lists",
        otherwise=REQUIRED,
    )
    settings.end()
    if seeds is None:
        raise AnabranchError(f"{file}: {path}.seeds: missing; give {SEEDS}")
    if not isinstance(at, dict) or not at:
        wrong = "missing" if at is None else f"{at}: names no point"
        raise AnabranchError(f"{file}: {path}.at: {wrong}; give lists of values by axis")
    return MoreSeeds(read_seeds(f"{file}: {path}", seeds), named_labels(f"{file}: {path}.at", at, known))
