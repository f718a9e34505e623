"""The study file: a scenario, axes over it, and seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.settings import REQUIRED, TABLE, TABLES, Settings
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.own.named import Own, own_name
from anabranch.simulate.own.override import BALANCE
from anabranch.simulate.runs.literal import file_text, literal, plain
from anabranch.simulate.runs.load import UNNAMED as SCENARIO
from anabranch.simulate.runs.load import read_text
from anabranch.simulate.study.more_seeds import SEEDS, MoreSeeds, read_more_seeds
from anabranch.simulate.study.own_value import replaced
from anabranch.simulate.study.quick import read_quick
from anabranch.simulate.study.ranges import parse_seeds

QUICK_SUFFIX = "-quick"
UNNAMED = "study"
"""Name, in errors, of a study that has no file."""
SEED_KEY = "seed"
FABRIC = "fabric"
PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = (SEED_KEY, "run", "size_class", "flows", "unfinished", "jobs", "steps", "requests")
"""Columns of the tables beside those of the axes."""

Overrides = list[tuple[str, str]]


@dataclass(frozen=True)
class Value:
    """One value of an axis: its name, and the keys that it changes."""

    label: Any
    overrides: Overrides
    own: Own | None = None
    """Scheme of one's own that replaces the scenario's load balancer."""


@dataclass(frozen=True)
class Point:
    """One point of the axes and one seed: a cell."""

    labels: dict[str, Any]
    """Label by axis."""
    overrides: Overrides
    seed: int
    own: Own | None = None
    """Scheme of one's own that replaces the scenario's load balancer."""


@dataclass(frozen=True)
class Study:
    """A study as written."""

    file: str
    name: str
    scenario_text: str
    scenario_file: str
    scenario_lines: bool
    """Whether the scenario is a file of its own, whose lines errors name."""
    axes: dict[str, list[Value]]
    seeds: list[int]
    """Seeds of every point."""
    more_seeds: list[MoreSeeds] = field(default_factory=list)
    overrides: Overrides = field(default_factory=list)
    """Overrides of the scenario, applied before those of the axes."""
    quick_note: str = ""
    """Difference from the full study, if this is the quick one."""

    @property
    def all_seeds(self) -> list[int]:
        """Seeds of any point, those of every point first."""
        return list(dict.fromkeys([*self.seeds, *(seed for more in self.more_seeds for seed in more.seeds)]))

    def points(self) -> Iterator[Point]:
        """Every cell, all points of one seed before the next seed.

        A sweep that is stopped halfway has then whole seeds rather than whole points.
        """
        for seed in self.all_seeds:
            of_all = seed in self.seeds
            more = [one for one in self.more_seeds if seed in one.seeds]
            for values in product(*self.axes.values()):
                labels = dict(zip(self.axes, (value.label for value in values), strict=True))
                if not of_all and not any(one.has(labels) for one in more):
                    continue
                overrides = [pair for value in values for pair in value.overrides]
                own = next((value.own for value in values if value.own is not None), None)
                yield Point(labels, [*self.overrides, *overrides, (SEED_KEY, str(seed))], seed, own)


def load_study(source: str | Path | Mapping[str, Any], quick: bool = False) -> Study:
    """Reads a study, a file or a mapping of its keys.

    The quick one is reduced as its table `[quick]` says, and has a name of its own.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be.

    """
    if isinstance(source, Mapping):
        file = str(getattr(source, "file", UNNAMED))
        table = {key: value if key == "scenario" else plain(value) for key, value in source.items()}
    else:
        file, table = str(source), parse_toml(read_text(source), str(source))
    given = _given(Settings(file, "", table))
    if not isinstance(name := given["name"], str) or not re.fullmatch(r"[\w.-]+", name):
        raise AnabranchError(f"{file}: name: {name}: names a folder; use letters, digits, dots and dashes")
    text, scenario_file, lines = _scenario(file, given["scenario"])
    axes, seeds = _axes(file, given["axes"]), _seeds(file, given["seeds"])
    more = read_more_seeds(file, given["more_seeds"], table_values(axes), _seeds)
    for number, one in enumerate(more):
        if set(one.seeds) <= set(seeds):
            raise AnabranchError(f"{file}: more_seeds.{number}.seeds: all points have these; give more than at `seeds`")
    small = read_quick(file, given["quick"], table_values(axes))
    fewer = {
        axis: [value for value in values if axis not in small.axes or value.label in small.axes[axis]]
        for axis, values in axes.items()
    }
    fewer_seeds = seeds if small.seeds is None else _seeds(f"{file}: quick", small.seeds)
    if not quick:
        return Study(file, name, text, scenario_file, lines, axes, seeds, more)
    if "quick" not in table:
        raise AnabranchError(f"{file}: quick: there is no such table; without --quick the whole study runs")
    changes = list(_overrides(small.scenario))
    return Study(file, f"{name}{QUICK_SUFFIX}", text, scenario_file, lines, fewer, fewer_seeds, [], changes, small.note)


def _given(settings: Settings) -> dict[str, Any]:
    """Values of all keys as they stand in the file, or their defaults; a key that there is not is refused first."""
    name, name_values = Path(settings.file).stem, "letters, digits, dots and dashes"
    meaning = "Name of the study and of its folder of results."
    given = {
        "name": settings.given("name", name, meaning, values=name_values, otherwise="the file's name"),
        "scenario": settings.given(
            "scenario",
            None,
            "Scenario of all cells: a file beside this one, or a table `[scenario]` ([scenario.md](scenario.md)).",
            values="a file, or a table",
            otherwise=REQUIRED,
        ),
        "axes": settings.given(
            "axes",
            {},
            "Axes. A list at a key of the scenario is an axis of its values; a table of tables is an axis of named "
            "values, each with the keys that it changes. The axis `routing.balance` takes schemes of one's own, too "
            "([own-scheme.md](own-scheme.md#in-a-sweep-beside-the-houses)).",
            values="a table of lists, or of tables",
            otherwise="none",
        ),
        "seeds": settings.given("seeds", 1, "Seeds of every point.", values=SEEDS),
        "more_seeds": settings.given(
            "more_seeds",
            [],
            "Points that have more seeds than the others, as those that a claim compares; `--quick`, `--seeds` and "
            "`--loads` leave them out.",
            values=f"{TABLES} `[[more_seeds]]`",
            otherwise="none",
        ),
        "quick": settings.given("quick", {}, "Smaller study that `--quick` runs.", values=TABLE, otherwise="none"),
    }
    settings.end()
    return given


KEYS = tuple(_given(Settings(UNNAMED, "", {})))
"""Names of all keys."""


def _scenario(file: str, given: object) -> tuple[str, str, bool]:
    """Text of the scenario, its file for errors and for the files that it names, and whether its lines are known."""
    if isinstance(given, (str, Path)):
        path = Path(file).parent / given
        return read_text(path), str(path), True
    if isinstance(given, Mapping):
        own = str(getattr(given, "file", SCENARIO))
        # Without a name of its own a scenario is called as the file is, up to its last dot.
        where = own if own != SCENARIO else f"{file}.scenario" if file == UNNAMED else f"{file}: scenario"
        return file_text(given, f"{where}: "), where, False
    problem = "missing" if given is None else "neither a file nor a table"
    raise AnabranchError(f'{file}: scenario: {problem}; give scenario = "file.toml", or a table [scenario]')


def _seeds(file: str, given: object) -> list[int]:
    if isinstance(given, int) and not isinstance(given, bool) and given >= 1:
        return list(range(1, given + 1))
    if isinstance(given, str):
        return parse_seeds(given, f"{file}: seeds")
    if isinstance(given, list) and given and all(isinstance(seed, int) and seed >= 0 for seed in given):
        if len(set(given)) == len(given):
            return given
        raise AnabranchError(f"{file}: seeds: {given}: one stands there twice; give each once")
    raise AnabranchError(f"{file}: seeds: {given}: no seeds; give how many, as in 5, or a list, as in [1, 2, 3]")


def _axes(file: str, given: object) -> dict[str, list[Value]]:
    if not isinstance(given, dict):
        raise AnabranchError(f"{file}: axes: {given}: not a table; write [axes], and a list of values for each key")
    axes = dict(_axes_of(file, given, ""))
    for name in axes:
        if name in RESERVED:
            hint = "give seeds = 5 beside the axes" if name == SEED_KEY else "call it otherwise"
            raise AnabranchError(f"{file}: axes.{name}: the name of a column of its own; {hint}")
    several = [name for name, values in axes.items() if any(value.own is not None for value in values)]
    if several[1:]:
        raise AnabranchError(
            f"{file}: axes.{several[1]}: schemes of one's own are on axes.{several[0]}, too; put them on one axis"
        )
    return axes


def _axes_of(file: str, table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, list[Value]]]:
    """Axes of a table: lists are axes of their key; a table of tables is an axis of named values."""
    for key, given in table.items():
        name = f"{prefix}{key}"
        if isinstance(given, list):
            labels = [_label(value) for value in given]
            values = [
                _value(file, name, label, [(name, literal(value))]) for label, value in zip(labels, given, strict=True)
            ]
        elif isinstance(given, dict) and given and all(isinstance(value, dict) for value in given.values()):
            values = [_value(file, name, label, list(_overrides(table))) for label, table in given.items()]
        elif isinstance(given, dict) and given:
            yield from _axes_of(file, given, f"{name}.")
            continue
        else:
            values = []
        if not values or len({str(value.label) for value in values}) < len(values):
            problem = f"{literal(given)}: a value stands there twice" if values else "no values"
            raise AnabranchError(f"{file}: axes.{name}: {problem}; give a list of values, or a table of named ones")
        yield name, values


def _label(value: Any) -> Any:
    """Label of a value: itself, a file's name, or what is written of a table."""
    if isinstance(value, dict) and list(value) == ["file"]:
        return Path(value["file"]).name
    return value if isinstance(value, (int, float, str)) else literal(value)


def _value(file: str, axis: str, label: Any, overrides: Overrides) -> Value:
    """One value of an axis; a scheme of one's own that is written by itself goes by its own name."""
    changed, own = replaced(file, axis, overrides)
    return Value(own_name(own) if own is not None and axis == BALANCE else label, changed, own)


def _overrides(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Overrides of nested tables as dotted keys, so that a named value leaves all other keys unchanged.

    Tables whose keys are names of links or switches are values in themselves, and so is a fabric that names its kind:
    keys of another kind would have no meaning in it.
    """
    for key, value in table.items():
        whole = f"{prefix}{key}" == FABRIC and isinstance(value, dict) and "kind" in value
        if isinstance(value, dict) and value and not whole and all(PLAIN_KEY.fullmatch(inner) for inner in value):
            yield from _overrides(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", literal(value)


def parse_shard(text: str) -> tuple[int, int]:
    """Parses `i/n`: the i-th of n parts, from 1.

    Raises:
        AnabranchError: the text has another form.

    """
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= part <= parts:
        raise AnabranchError(f"shard: {text}: not i/n with i from 1 to n; give 1/4 to 4/4")
    return part, parts


def labels_text(point: Mapping[str, Any], seed: int) -> str:
    """Describes a cell in words."""
    return ", ".join([*(f"{axis} {label}" for axis, label in point.items()), f"{SEED_KEY} {seed}"])


def table_values(axes: Mapping[str, Sequence[Value]]) -> dict[str, list[Any]]:
    """Labels by axis."""
    return {axis: [value.label for value in values] for axis, values in axes.items()}
