"""The desired tables of a plan: an entry per value of the hash, each with the number of a path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from anabranch.deploy.targets.plan.group import group
from anabranch.deploy.targets.plan.group_keys import refuse_error
from anabranch.deploy.targets.plan.recipe import Recipe
from anabranch.deploy.targets.table.observe import Observed, Table, TableState
from anabranch.deploy.targets.table.plan_file import AUTO, TablePlan, WeightedPorts
from anabranch.deploy.targets.table.recipes import HASH, LABELS, first_near, table
from anabranch.split.splitter import Splitter


@dataclass(frozen=True)
class Desired:
    """A plan as a table, with notes for the operator."""

    state: TableState
    warnings: tuple[str, ...]


def desired(plan: TablePlan, observed: Observed | None = None) -> Desired:
    """The tables of a plan; they follow from the plan alone.

    Args:
        plan: weighted groups.
        observed: what stands in the folder, for notes on others' tables.

    Raises:
        AnabranchError: weights that cannot be, or a split further off than the plan allows.

    """
    tables, warnings = {}, []
    for one in plan.groups:
        recipe = recipe_of(one)
        refuse_error(plan.file, "table", one, recipe.name, recipe.mape_pct)
        if recipe.mape_pct > one.error_pct:
            warnings.append(
                f"group {one.name}: {recipe.name} is {recipe.mape_pct:.3g} % off (MAPE), over {one.error_pct:g} %"
            )
        prefixes = tuple(sorted(map(str, one.prefixes)))
        tables[one.name] = Table(prefixes, one.ports, one.weights, recipe.name, HASH, one.seed, entries_of(one, recipe))
        warnings += [
            f"group {one.name}: group {name} of owner {owner} has {prefix} too"
            for owner, others in sorted((observed.others if observed is not None else {}).items())
            for name, other in sorted(others.items())
            for prefix in sorted({*prefixes} & {*other.prefixes})
        ]
    return Desired(TableState(tables), tuple(warnings))


def recipe_of(one: WeightedPorts) -> Recipe:
    """The recipe of a group, with its exact shares."""
    return _recipe(one.weights, one.recipe, one.error_pct)


@lru_cache(maxsize=1 << 12)
def _recipe(weights: tuple[str, ...], name: str, error_pct: float) -> Recipe:
    """In a fabric many groups have the same weights."""
    paths = group(weights)
    if name == AUTO:
        return first_near(paths, error_pct)
    return table(paths, *LABELS[name])


def entries_of(one: WeightedPorts, recipe: Recipe) -> tuple[int, ...]:
    """The path, from 1, of each entry."""
    return _entries(one.weights, recipe.name, recipe.used)


@lru_cache(maxsize=1 << 8)
def _entries(weights: tuple[str, ...], name: str, used: int) -> tuple[int, ...]:
    technique, parameter, entries, _ = LABELS[name]
    splitter = Splitter(technique, weights, None, **{parameter: entries})
    paths = splitter.pick(np.arange(used, dtype=np.uint64)) + 1
    return tuple(paths.tolist())
