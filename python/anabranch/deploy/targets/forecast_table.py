"""Plans on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from anabranch.deploy.targets.forecast import Forecasts
from anabranch.deploy.targets.plan.group import Group, short
from anabranch.deploy.targets.plan.recipe import Forecast, Recipe
from anabranch.files.terminal.plain_table import plain_table
from anabranch.files.units import pct

PATHS_SHOWN = 6
LINES_SHOWN = 12
ERROR_WIDTH = 6
NEAR_PCT, FAR_PCT = 1.0, 5.0
"""Errors up to which a recipe is coloured as good, and from which as bad."""


def show(plan: Forecasts, console: Console) -> None:
    """Prints each target: its recipes, the recommended one with what to paste, and the traps."""
    group = plan.group
    show_asked(group, console)
    for target in plan.targets:
        console.print()
        console.print(Text(target.title, style="bold"))
        best = target.recommended(plan.bound_pct)
        console.print(_recipes(group, target.recipes, best))
        if len(group.weights) <= PATHS_SHOWN:
            console.print()
            console.print(_paths(group, target.recipes))
            console.print()
        show_refused(target, console)
        near = "" if best.mape_pct <= plan.bound_pct else f"; nothing here stays below {pct(plan.bound_pct)} %"
        show_recommended(target, best, near, console)
    if group.degraded:
        console.print("\nerror: of the group as installed for all paths, once the path is dead", style="dim")
        console.print("anew: the error after the group is written again for the living paths", style="dim")


def show_asked(group: Group, console: Console) -> None:
    """Prints the weights, the dead paths and the shares that are asked for."""
    dead = [str(path) for path, up in enumerate(group.up, 1) if not up]
    asked = short([f"{100 * share:.2f}" for share in group.asked], PATHS_SHOWN + 2)
    died = f", path {', '.join(dead)} dead" if dead else ""
    console.print(f"weights {short(group.weights)}{died}: asked, % by path: {asked}", markup=False)


def _recipes(group: Group, recipes: Sequence[Recipe], best: Recipe) -> Table:
    table = plain_table(
        ("\n", False),
        ("recipe\n", False),
        ("what is written\n", False),
        ("error\n% MAPE", True),
        *([("anew\n% MAPE", True)] if group.degraded else []),
        ("worst path\nby %", True),
        ("used\n", False),
    )
    for recipe in recipes:
        error = recipe.mape_pct
        table.add_row(
            Text("*", "bold green") if recipe is best else "",
            recipe.name,
            recipe.written,
            Text(error_text(error), error_style(error)),
            *([error_text(recipe.replanned_mape_pct)] if group.degraded else []),
            _worst(recipe),
            _used(recipe),
        )
    return table


def _paths(group: Group, recipes: Sequence[Recipe]) -> Table:
    numbers = range(1, len(group.weights) + 1)
    table = plain_table(
        ("", False), ("got, % of all, and error, %", False), *((f"path {path}", True) for path in numbers)
    )
    table.add_row("", "asked", *(f"{100 * share:.2f} {'':{ERROR_WIDTH}}" for share in group.asked), style="bold")
    for recipe in recipes:
        both = zip(recipe.achieved, recipe.error_pct, strict=True)
        errors = [(100 * share, "-" if error is None else f"{error:+.1f}") for share, error in both]
        table.add_row("", recipe.name, *(f"{share:.2f} {error:>{ERROR_WIDTH}}" for share, error in errors))
    return table


def _worst(recipe: Recipe) -> str:
    errors = [(abs(error), path, error) for path, error in enumerate(recipe.error_pct, 1) if error is not None]
    _, path, error = max(errors, key=lambda entry: entry[0])
    return f"{path}: {'-' if error < 0 else '+'}{error_text(abs(error))}" if abs(error) >= 0.001 else "-"


def _used(recipe: Recipe) -> str:
    if recipe.limit is not None and recipe.used == 0:
        return f"over {recipe.limit:,} {recipe.unit}"
    of = "" if recipe.limit is None else f" of {recipe.limit:,}"
    return f"{recipe.used:,}{of} {recipe.unit}"


def error_text(value: float) -> str:
    """A percentage; what only the last bits of a double make of zero is zero."""
    return pct(0.0 if value < 1e-9 else value)


def error_style(error_pct: float) -> str:
    """The colour of an error."""
    return "green" if error_pct <= NEAR_PCT else "yellow" if error_pct < FAR_PCT else "red"


def show_refused(target: Forecast, console: Console) -> None:
    """Prints the recipes that cannot be, and why."""
    for name, reason in target.refused:
        console.print(f"  cannot be: {name}: {reason}", markup=False, soft_wrap=True)


def show_recommended(target: Forecast, best: Recipe, near: str, console: Console) -> None:
    """Prints a recipe with what it needs, the lines to paste and the target's traps; `near` ends its first line."""
    console.print(Text.assemble(("* ", "bold green"), (best.name, "bold"), f": {best.gain}{near}"))
    for need in best.needs:
        console.print(f"  needs: {need}", markup=False)
    lines = list(best.lines)
    if len(lines) > LINES_SHOWN:
        left = len(lines) - LINES_SHOWN + 1
        lines[LINES_SHOWN - 2 : -1] = [f"# ... {left} more lines: all are in --json"]
    console.print()
    for line in lines:
        console.print(f"  {line}", markup=False, soft_wrap=True)
    console.print()
    for trap in target.traps:
        console.print(f"  - {trap}", style="dim", markup=False)
