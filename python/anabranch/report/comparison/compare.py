"""`anabranch compare`: load balancers side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.report.comparison.design import DEFAULT_LOADS, DEFAULT_SCENARIO, FABRIC, LOAD, SIZES, Design, check_name
from anabranch.report.comparison.fabrics import ChangesGiven, FabricGiven, change_values, fabric_values
from anabranch.report.comparison.outcome import FORMATS, Comparison, OneOrMore, several
from anabranch.report.comparison.schemes import Given, read_entries
from anabranch.report.plot.sheet import check_columns
from anabranch.simulate.own.override import BALANCE
from anabranch.simulate.runs.load import read_text
from anabranch.simulate.stats.measures import FCT, MEASURES, SLOWDOWN, Measure
from anabranch.simulate.study.conduct import SILENT, Report, Where, conduct
from anabranch.simulate.study.criteria import EACH_CLASS, Asked, read_asked
from anabranch.simulate.study.sweep import resolve

if TYPE_CHECKING:
    from anabranch.simulate.stats.size_classes import SizeClass

STUDY = "study.toml"
SEED = "seed"
"""Axis of every comparison."""
FIGURES = "figures"
DIFFERENCE = "-difference"
"""Ending of the names of figures with ratios to the baseline."""
BY_CLASS = "fct-by-class"
"""Figure of completion times by load, a panel for each size class: what papers print."""


def compare(
    schemes: Sequence[Given] | Mapping[str, Given],
    *,
    loads: Iterable[float] | None = None,
    sizes: Sequence[str] = (),
    seeds: int | Iterable[int] = 5,
    fabrics: Sequence[FabricGiven] | Mapping[str, FabricGiven] = (),
    changes: ChangesGiven | None = None,
    scenario: str | Path | Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    measures: OneOrMore = (),
    statistics: OneOrMore = (),
    size_classes: OneOrMore = (),
    name: str = "comparison",
    runs: str | Path = "runs",
    jobs: int | None = None,
    dask: str | None = None,
    columns: int | None = None,
    progress: bool = True,
) -> Comparison:
    """Compares load balancers on the same flows, seed by seed; the first one is what the others are set against.

    Runs that are complete already, of this comparison or an earlier one of the same name, are not run again; a scheme
    of one's own whose source has changed is. The folder `RUNS/NAME` gets the study (`study.toml`, which `anabranch
    sweep` runs), its tables, and the figures.

    ```python
    import anabranch as ab


    class Shorter(ab.Scheme):
        def pick(self, packet, view):
            first, second = (int(view.random() * len(view.members)) for _ in range(2))
            return min(first, second, key=view.backlog)


    if __name__ == "__main__":
        found = ab.compare(["ecmp", "letflow", Shorter], loads=[0.3, 0.6], seeds=5)
        print(found)
        found.plot("slowdown.pdf")
        found.plot("fct.pdf", "fct", size_classes="each")
    ```

    Args:
        schemes: Names of `ab.schemes()`, classes of one's own, `"FILE.py:CLASS"`, `"crate:FOLDER"`; keys of the
            scenario may follow a name, as in `"letflow,routing.gap=200us"`. A dict gives names to them.
        loads: Values of `traffic.load`. Default: 0.3, 0.5, 0.7, or the load of `scenario` if that is given.
        sizes: Values of `traffic.sizes`, as in `["web-search", "20 KB", "mine.csv"]`. Default: those of `scenario`.
        seeds: Number of seeds, or which.
        fabrics: Kinds such as `"fat-tree"`, TOML files with `[fabric]` and `[[change]]`, or tables of the keys of
            `[fabric]`; a dict gives names to them. Default: the fabric of `scenario`.
        changes: Lists of `[[change]]` by name, as in `{"whole": [], "slow": [{"link": "leaf0-spine0", "rate":
            "2.5 Gbps"}]}`; they replace those of scenario and fabric.
        scenario: A scenario file, or its keys. Default: a leaf-spine fabric of 32 hosts at 10 Gbit/s, web-search flows
            over DCTCP for 150 ms.
        overrides: Keys of the scenario to change, as in `{"traffic.duration": "50 ms"}`.
        measures: What tables and figures show, one or several of `slowdown`, `fct`, `throughput` (payload over
            completion time), `job` (from the start of a job, such as an incast or a training job, to its end), `step`
            (of workload graphs), `ttft` and `tpot` (time to first token and per output token, of inference). Default:
            `slowdown` for flows by themselves, those of jobs, steps and requests where there are some.
        statistics: Statistics of them: `mean`, `p50`, `p95`, `p99`, `p99.9`. Default: `mean`, and `p99` of flows.
        size_classes: Size classes that they are of, as in `"up to 100 KB"`, or `each`. Default: `all`.
        name: Name of the folder of results.
        runs: Folder of all results.
        jobs: Number of cores, and so of runs at the same time. Default: all cores.
        dask: Address of a Dask scheduler, to which runs are sent.
        columns: Columns of a paper that figures span, 1 (3.5 inches) or 2 (7.16 inches). Default: 9 inches.
        progress: Draw progress on stderr if that is a terminal.

    Raises:
        AnabranchError: a scheme, a key or a value is not as it must be, or a scheme has failed.

    """
    from anabranch.simulate.stats import size_classes as by_size

    classes = by_size.size_classes()
    asked = read_asked(several(measures), several(statistics), several(size_classes), [one.label for one in classes])
    chosen = range(1, seeds + 1) if isinstance(seeds, int) else seeds
    design = designed(
        schemes,
        None if loads is None else list(loads),
        list(sizes),
        list(chosen),
        fabrics,
        changes,
        scenario,
        overrides,
        name,
    )
    where = Where(at_once=jobs, dask=dask)
    comparison = run(design, runs, classes, where, replace(SILENT, progress=progress), asked, columns)
    assert comparison is not None, "one shard is all of it"
    return comparison


def designed(
    schemes: Sequence[Given] | Mapping[str, Given],
    loads: list[float] | None,
    sizes: list[str],
    seeds: list[int],
    fabrics: Sequence[FabricGiven] | Mapping[str, FabricGiven],
    changes: ChangesGiven | None,
    scenario: str | Path | Mapping[str, Any] | None,
    overrides: Mapping[str, Any] | None,
    name: str,
) -> Design:
    """Reads what is to be compared.

    Raises:
        AnabranchError: a scheme, a file or a value is not as it must be.

    """
    check_name(name)
    if not seeds:
        raise AnabranchError("seeds: none; give how many, as in 5, or which, as in [1, 2, 3]")
    base: Path | Mapping[str, Any]
    if isinstance(scenario, (str, Path)):
        base = Path(scenario)
        known = parse_toml(read_text(base), str(base))
    else:
        base = known = dict(DEFAULT_SCENARIO if scenario is None else scenario)
    if loads is None and scenario is None:
        loads = list(DEFAULT_LOADS)
    fabric = known.get("fabric")
    link = fabric.get("link") if isinstance(fabric, Mapping) else None
    settings = dict(overrides or {})
    axes = (
        [LOAD] * (loads is not None)
        + [SIZES] * bool(sizes)
        + [FABRIC] * bool(fabrics)
        + ["change"] * bool(fabrics or changes)
        + [SEED]
    )
    for key in settings:
        if (axis := _axis_of(key, [*axes, BALANCE])) is not None:
            raise AnabranchError(f"{key}: the axis {axis} of this comparison changes it; give another key")
    entries = read_entries(schemes)
    for entry in entries:
        for key in entry.keys:
            if (axis := _axis_of(key, axes)) is not None:
                raise AnabranchError(
                    f"schemes: {entry.label}: {key}: the axis {axis} of this comparison changes it; leave it out of "
                    "the scheme, or do not compare along that axis"
                )
    return Design(
        name,
        entries,
        base,
        settings,
        loads,
        sizes,
        fabric_values(fabrics, link),
        change_values(changes or {}),
        seeds,
    )


def _axis_of(key: str, axes: Sequence[str]) -> str | None:
    """Axis that changes a key, or a part of it, or what it is a part of."""
    return next((axis for axis in axes if f"{key}.".startswith(f"{axis}.") or axis.startswith(f"{key}.")), None)


def run(
    design: Design,
    runs: str | Path,
    classes: Sequence[SizeClass],
    where: Where,
    report: Report,
    asked: Asked,
    columns: int | None = None,
) -> Comparison | None:
    """Runs a comparison and writes its files; None if other shards have runs left.

    Raises:
        AnabranchError: a key or a value is not as it must be, or a scheme has failed.

    """
    from anabranch.files.atomic_file import write_whole

    check_columns(columns)
    sweep = resolve(design.study(), runs)
    study = conduct(sweep, classes, ["anabranch", *sys.argv[1:]], where, report)
    # Written when all is checked: a comparison that is refused leaves nothing behind.
    design.write_schemes(sweep.folder)
    write_whole(sweep.folder / STUDY, design.files(sweep.folder))
    if study is None:
        return None
    comparison = Comparison(study, asked)
    draw(comparison, list(dict.fromkeys(one.measure for one in comparison.frames.criteria)), columns)
    return comparison


def draw(comparison: Comparison, measures: Sequence[Measure], columns: int | None) -> None:
    """Writes the figures: values and differences of each measure, and completion times by size class.

    Those of an earlier comparison of the same name that this one does not draw go, for its runs may have been others.
    """
    folder = comparison.folder / FIGURES
    folder.mkdir(exist_ok=True)

    def files(name: str) -> list[Path]:
        return [folder / f"{name}{ending}" for ending in FORMATS]

    for name in (BY_CLASS, *(f"{one}{ending}" for one in MEASURES for ending in ("", DIFFERENCE))):
        for file in files(name):
            file.unlink(missing_ok=True)
    for measure in measures:
        comparison.plot(files(measure.name), measure.name, columns=columns)
        comparison.plot(files(f"{measure.name}{DIFFERENCE}"), measure.name, difference=True, columns=columns)
    if SLOWDOWN in measures or FCT in measures:
        comparison.plot(files(BY_CLASS), FCT.name, size_classes=EACH_CLASS, columns=columns)
