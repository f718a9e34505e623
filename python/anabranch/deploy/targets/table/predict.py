"""The entry, and so the path, that a table gives a connection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.plan.captured import header_words, headers_of, without_headers
from anabranch.deploy.targets.plan.explanation import Explanation, by_technique, described
from anabranch.deploy.targets.plan.group import Group, group
from anabranch.deploy.targets.plan.longest_prefix import takers
from anabranch.deploy.targets.table.desired import recipe_of
from anabranch.deploy.targets.table.plan_file import TablePlan, WeightedPorts
from anabranch.deploy.targets.table.recipes import HASH, LABELS
from anabranch.split.request import Choice

UNREAD = "because each device has its own rule for these headers"


@dataclass(frozen=True)
class Predicted:
    """The path of one connection by a plan's tables."""

    connection: str
    steps: list[tuple[str, str]]
    group: str | None
    """The group that takes it, or `None` where none of the plan does."""
    path: int | None
    """From 1."""
    port: str | None
    known: bool = True

    @property
    def last(self) -> tuple[str, str]:
        """The port, for people."""
        if not self.known:
            return "port", f"not known {UNREAD}"
        return "port", "others decide" if self.port is None else self.port


def explain_group(paths: Group, tuples: npt.NDArray[np.void]) -> list[Explanation]:
    """Chooses by the finest of the small tables, min-move over 4096 slots."""
    label = next(iter(LABELS))
    explained = _by_label(paths, label, 0, without_headers(tuples))
    return [
        Explanation(described(row), [], None, unknown=UNREAD) if header_words(row) else one
        for row, one in zip(tuples, explained, strict=True)
    ]


def explain(plan: TablePlan, tuples: npt.NDArray[np.void]) -> list[Predicted]:
    """Chooses the group by the longest prefix, then the path by the entry of its table."""
    rows_by_group: dict[str, list[int]] = {}
    predicted: dict[int, Predicted] = {}
    by_name = {}
    for row, headers in enumerate(headers_of(tuples)):
        taking = next(iter(takers(plan.groups, tuples[row])), None)
        if headers:
            predicted[row] = Predicted(described(tuples[row]), [], None, None, None, known=False)
        elif taking is None:
            steps = [("table", "none of this plan")]
            predicted[row] = Predicted(described(tuples[row]), steps, None, None, None)
        else:
            by_name[taking.name] = taking
            rows_by_group.setdefault(taking.name, []).append(row)
    for name, rows in rows_by_group.items():
        predicted.update(zip(rows, _of_group(by_name[name], without_headers(tuples[rows])), strict=True))
    return [predicted[row] for row in range(len(tuples))]


def _of_group(taking: WeightedPorts, tuples: npt.NDArray[np.void]) -> Iterator[Predicted]:
    for explanation in _by_label(group(taking.weights), recipe_of(taking).name, taking.seed, tuples):
        assert explanation.path is not None
        steps = [("table", taking.name), *explanation.steps, ("path", f"{explanation.path} of {len(taking.ports)}")]
        yield Predicted(
            explanation.connection, steps, taking.name, explanation.path, taking.ports[explanation.path - 1]
        )


def _by_label(paths: Group, label: str, seed: int, tuples: npt.NDArray[np.void]) -> list[Explanation]:
    technique, parameter, entries, _ = LABELS[label]
    return by_technique(tuples, paths, Choice(technique, ((parameter, str(entries)),)), HASH, seed)
