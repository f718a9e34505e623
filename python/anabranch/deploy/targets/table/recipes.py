"""Slot tables of our own and of others: what a switch or a host that runs them needs, entry by entry."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.plan.captured import headers_of, without_headers
from anabranch.deploy.targets.plan.group import Group, exact, short
from anabranch.deploy.targets.plan.recipe import UNKNOWN, Forecast, OwnHash, Recipe, recipe
from anabranch.files.errors import AnabranchError
from anabranch.split.splitter import Splitter
from anabranch.split.tuples import flow_keys

HASH = "xxh3"
"""Makes the keys of connections for every table."""

SETTINGS: tuple[tuple[str, str, int, str], ...] = (
    ("min-move", "slots", 4096, "a change moves the fewest slots there are; fits the first-level cache"),
    ("min-move", "slots", 65536, "a change moves the fewest slots there are"),
    ("wcmp", "entries", 16, "few entries; a change of weights moves most connections"),
    ("wcmp", "entries", 32, "few entries; a change of weights moves most connections"),
    ("wcmp", "entries", 64, "few entries; a change of weights moves most connections"),
    ("wcmp", "entries", 128, "few entries; a change of weights moves most connections"),
    ("wcmp", "entries", 256, "few entries; a change of weights moves most connections"),
    ("maglev", "entries", 251, "needs no history; moves little more than it must"),
    ("maglev", "entries", 4099, "needs no history; moves little more than it must"),
    ("maglev", "entries", 65537, "needs no history; moves little more than it must"),
)

LABELS = {f"{row[0]}:{row[1]}={row[2]}": row for row in SETTINGS}
"""The same by the name of the recipe."""


def forecast(group: Group, bounded: bool) -> Forecast:
    """All tables; where a bound on the error is given, entries are what is scarce, and fewer come first."""
    recipes: list[Recipe] = []
    refused: list[tuple[str, str]] = []
    for label, row in LABELS.items():
        try:
            recipe = table(group, *row)
        except AnabranchError as error:
            refused.append((label, str(error)))
            continue
        # A recipe with more room but the same table adds nothing.
        if all((recipe.used, recipe.achieved) != (other.used, other.achieved) for other in recipes):
            recipes.append(recipe)
    if bounded:
        recipes.sort(key=lambda recipe: recipe.used)
    return Forecast("table", "slot tables: hash % entries", recipes, refused, [])


def first_near(group: Group, bound_pct: float) -> Recipe:
    """The table that `forecast` recommends for a bound; those behind it are not made."""
    for row in SETTINGS:
        with suppress(AnabranchError):
            candidate = table(group, *row)
            if candidate.mape_pct <= bound_pct:
                return candidate
    return forecast(group, bounded=False).recommended(bound_pct)


def table(group: Group, technique: str, parameter: str, entries: int, gain: str) -> Recipe:
    """One table, updated when a path dies as its rule says."""
    splitter = Splitter(technique, group.weights, None, **{parameter: entries})
    if group.degraded:
        splitter.update(up=group.up)
    shares = exact(splitter)
    (_, slot), *_ = splitter.explain(0)
    used = int(slot.rpartition(" of ")[2])
    weights = ", ".join(repr(text) for text in group.weights)
    return recipe(
        group,
        f"{technique}:{parameter}={entries}",
        f"weights {short(group.weights)}",
        (shares, shares),
        (used, entries, "entries"),
        gain,
        (),
        [f"anabranch.Splitter({technique!r}, [{weights}], {parameter}={entries})"],
        OwnHash(lambda tuples: _paths(splitter, tuples), f"with {HASH} and seed 0"),
    )


def _paths(splitter: Splitter, tuples: npt.NDArray[np.void]) -> npt.NDArray[np.intp]:
    """The path of each connection; of packets with other headers each device reads what it will."""
    picked = splitter.pick(flow_keys(without_headers(tuples), HASH)).astype(np.intp)
    return np.where(headers_of(tuples) != 0, UNKNOWN, picked)
