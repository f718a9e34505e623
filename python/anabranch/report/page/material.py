"""Material of a report: single runs, or a study's points over their seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.report.plot.series import Series
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.lazily import joined
from anabranch.simulate.study.outcome import STUDY_FILE, Cell, StudyOutcome, open_study, short

LABEL_KEYS_MAX = 3
SEED = "seed"
ABSENT = "-"


@dataclass(frozen=True)
class Group:
    """Series that are compared with each other."""

    point: dict[str, Any]
    """Settings that they have in common, by axis; empty for single runs."""
    series: list[Series]
    of_seeds: list[list[Run]]
    """Runs of each series, one for each seed."""

    @property
    def runs(self) -> list[Run]:
        """First run of each series, whose links and traces represent it."""
        return [seeds[0] for seeds in self.of_seeds]

    @property
    def title(self) -> str:
        """The point in words."""
        return ", ".join(f"{short(axis)} {value}" for axis, value in self.point.items())


@dataclass(frozen=True)
class Material:
    """All groups, every run, and the study they belong to, if they do."""

    groups: list[Group]
    runs: list[Run]
    study: StudyOutcome | None = None
    together: list[list[Run]] = field(default_factory=list)
    """Runs of each series over its seeds, if single runs were given."""

    @property
    def differing(self) -> dict[str, list[str]]:
        """Settings that differ between series: key to one value per series; those of its seeds stand together."""
        if not self.together:
            return {}
        settings = [flatten(runs[0].scenario) for runs in self.together]
        seeds = [", ".join(dict.fromkeys(text(run.scenario.get(SEED)) for run in runs)) for runs in self.together]
        return differences([{**one, SEED: seed} for one, seed in zip(settings, seeds, strict=True)])

    @property
    def pooled(self) -> bool:
        """Whether some series are single runs over several seeds."""
        return self.study is None and len(self.runs) > sum(len(group.runs) for group in self.groups)


def gather(paths: Sequence[str | Path]) -> Material:
    """Opens run folders, or the one folder of a study.

    Raises:
        AnabranchError: a folder that is neither, or a study beside other folders.

    """
    studies = [path for path in paths if (Path(path) / STUDY_FILE).is_file()]
    if studies and len(paths) > 1:
        raise AnabranchError(f"{studies[0]}: a study beside other folders; report on one study, or on runs")
    if studies:
        return _of_study(open_study(studies[0]))
    runs = [Run(path) for path in paths]
    together = _over_seeds(runs)
    shown = [seeds[0] for seeds in together]
    labels = _labels(shown, differing_settings(shown))
    series = [
        Series(label, joined([run.scanned_flows for run in seeds]))
        for label, seeds in zip(labels, together, strict=True)
    ]
    return Material([Group({}, series, together)], runs, together=together)


def _over_seeds(runs: Sequence[Run]) -> list[list[Run]]:
    """Puts runs together that differ in the seed alone; a run that is given twice stands apart, not counted twice."""
    together: dict[tuple[Any, ...], list[Run]] = {}
    copies: Counter[tuple[Any, ...]] = Counter()
    for run in runs:
        settings = flatten(run.scenario)
        seed = settings.pop(SEED, None)
        origin = (run.manifest["model_version"], "lab" in run.manifest)
        key = (*origin, *settings.items())
        copy = copies[key, seed]
        copies[key, seed] += 1
        together.setdefault((copy, *key), []).append(run)
    return list(together.values())


def _of_study(study: StudyOutcome) -> Material:
    """Makes a group for each combination of the axes that are not compared.

    Only the last value of the swept axis is shown in detail: curves show the others.
    """
    compared, swept = study.compared_axis, study.swept_axis
    groups: dict[tuple[Any, ...], dict[str, list[Cell]]] = {}
    others = [axis for axis in study.axes if axis != compared]
    for cell in study.cells:
        if swept is not None and cell.point[swept] != study.axes[swept][-1]:
            continue
        label = str(cell.point[compared]) if compared else study.name
        groups.setdefault(tuple(cell.point[axis] for axis in others), {}).setdefault(label, []).append(cell)
    by_scheme = []
    for key, members in groups.items():
        series = [
            Series(label, joined([Run(cell.folder).scanned_flows for cell in cells]))
            for label, cells in members.items()
        ]
        of_seeds = [[Run(cell.folder) for cell in cells] for cells in members.values()]
        by_scheme.append(Group(dict(zip(others, key, strict=True)), series, of_seeds))
    runs = [Run(cell.folder) for cell in study.cells]
    return Material(by_scheme, runs, study)


def flatten(table: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as dotted keys and texts."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for index, item in enumerate(value):
                inner = flatten(item, "") if isinstance(item, dict) else {"": str(item)}
                flat[f"{prefix}{key}[{index}]"] = ", ".join(f"{k} = {v}" if k else v for k, v in inner.items())
        else:
            flat[f"{prefix}{key}"] = text(value)
    return flat


def text(value: object) -> str:
    """Formats a setting as the scenario writes it, without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(text, value)) or "none"
    return str(value)


def differences(settings: Sequence[dict[str, str]]) -> dict[str, list[str]]:
    """Keys whose values are not all the same, in the order of the first scenario."""
    keys = dict.fromkeys(key for one in settings for key in one)
    columns = {key: [one.get(key, ABSENT) for one in settings] for key in keys}
    return {key: values for key, values in columns.items() if len(set(values)) > 1}


def differing_settings(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Settings in which runs differ, but for their name and seed: key to one value per run."""
    differing = differences([flatten(run.scenario) for run in runs])
    return {key: values for key, values in differing.items() if key not in ("name", SEED)}


def _labels(runs: Sequence[Run], telling: dict[str, list[str]]) -> list[str]:
    """Labels by what differs: every differing setting if they are few, else names, else the fewest that tell apart.

    Folders are the last resort, for runs whose settings are the same.
    """
    named = [run.name for run in runs]
    candidates = [named] if len(telling) > LABEL_KEYS_MAX else [_label(telling, telling, len(runs)), named]
    for labels in candidates:
        if len(set(labels)) == len(labels) and all(labels):
            return labels
    for number in range(1, LABEL_KEYS_MAX + 1):
        for keys in combinations(telling, number):
            labels = _label(telling, keys, len(runs))
            if len(set(labels)) == len(labels):
                return labels
    folders = [run.folder.name for run in runs]
    return (
        folders if len(set(folders)) == len(folders) else [f"{name} ({index})" for index, name in enumerate(folders, 1)]
    )


def _label(telling: dict[str, list[str]], keys: Iterable[str], number: int) -> list[str]:
    """Formats the values of `keys`, for each of `number` runs."""
    return [", ".join(_words(key, telling[key][index]) for key in keys) for index in range(number)]


def _words(key: str, value: str) -> str:
    """Formats a setting: a number needs its key beside it; a name explains itself."""
    return f"{key.rpartition('.')[2]} {value}" if value[:1].isdigit() else value
