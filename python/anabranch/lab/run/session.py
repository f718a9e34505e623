"""`anabranch lab run`: a lab made if there is none, checked against what the machine can, measured, and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from anabranch import _core
from anabranch.deploy.targets.registry import DEFAULT
from anabranch.files.errors import AnabranchError
from anabranch.files.terminal.bar import Bar
from anabranch.lab.calibration import contention, unloaded
from anabranch.lab.calibration.calibrate import ceiling_of, remove_left
from anabranch.lab.calibration.contention import Contention, judge, usable_scale
from anabranch.lab.calibration.processor_time import Meter
from anabranch.lab.fabric.termination import unwinding
from anabranch.lab.fabric.topology import Lab, default_name
from anabranch.lab.run import beside, show
from anabranch.lab.run.beside import Pairs
from anabranch.lab.run.load import mean_switches, offered_bps
from anabranch.lab.run.run import Choices, check, folder_of, link_bps, run
from anabranch.report.tables.offered_table import show_before
from anabranch.simulate.runs.folder import check_writable
from anabranch.simulate.runs.load import load
from anabranch.simulate.runs.results import Run
from anabranch.simulate.runs.run import run as simulate
from anabranch.simulate.stats.size_classes import SizeClass

SLOWER_MAX = 20
"""A run that lasts so many times as long is no help any more."""


@dataclass(frozen=True)
class Request:
    """Request on the command line."""

    scenario: Path
    overrides: Sequence[tuple[str, str]] = ()
    name: str | None = None
    scale: float = 1.0
    switch: str = DEFAULT
    """The kind of the lab's switches."""
    runs: Path = Path("runs")
    choices: Choices = Choices()  # noqa: RUF009
    keep: bool = False
    """Leave the lab up."""
    unchecked: bool = False
    """Neither measure nor heed what the machine can forward."""
    quiet: bool = False


def run_one(request: Request, classes: Sequence[SizeClass], console: Console) -> tuple[Run, Contention]:
    """One run, with its tables, and whether the machine was quiet enough for it.

    Raises:
        AnabranchError: no lab can be made here, it cannot do what the scenario asks, or not at this load.

    """
    scenario = load(request.scenario, request.overrides)
    check(scenario, request.choices, request.switch)
    check_writable(request.runs)
    meter = Meter()
    with _lab(request) as lab:
        if not request.quiet:
            show_before(scenario, console)
        ceiling = _checked(request, lab, scenario)
        measured, results = _run(request, lab, scenario, ceiling, meter)
    if not request.quiet:
        show.one(measured, results, classes, console)
    return measured, _judged(lab, meter, request, console)


def run_beside(
    request: Request, seeds: int, classes: Sequence[SizeClass], console: Console
) -> tuple[Pairs, Contention]:
    """The lab and the simulator in turn, for each seed, with links that delay as the lab's do; and as `run_one`.

    Raises:
        AnabranchError: as `run_one`, or a lab with rates that are not the scenario's.

    """
    scenario = load(request.scenario, request.overrides)
    check(scenario, request.choices, request.switch)
    check_writable(request.runs)
    meter = Meter()
    with _lab(request) as lab:
        ceiling = _checked(request, lab, scenario)
        empty = unloaded.measure(lab, scenario, request.choices)
        pairs = Pairs(empty, lab.scale, [], [])
        for seed in range(1, seeds + 1):
            overrides = [*request.overrides, ("seed", str(seed))]
            measured, results = _run(request, lab, load(request.scenario, overrides), ceiling, meter, f"seed {seed}: ")
            for warning in results.warnings():
                console.print(f"warning: seed {seed}: {warning}", style="yellow", markup=False, soft_wrap=True)
            delays = beside.as_simulated(empty, measured.scenario["fabric"]["kind"], lab.scale)
            model = simulate(request.scenario, [*overrides, *delays], runs=request.runs, progress=not request.quiet)
            pairs.lab.append(measured)
            pairs.simulated.append(model)
    if not request.quiet:
        show.pairs(pairs, classes, console)
    return pairs, _judged(lab, meter, request, console)


def _judged(lab: Lab, meter: Meter, request: Request, console: Console) -> Contention:
    """The verdict, told; also to who wants no tables, if it is not good."""
    rate_bps = link_bps(lab)
    judged = judge(meter, link_bps=rate_bps)
    if not (judged.usable and request.quiet):
        hint, scale = "leave the machine to the lab", usable_scale(judged, rate_bps, lab.scale)
        if scale >= lab.scale / SLOWER_MAX:
            hint += f", or make a slower one, on which the same delays weigh less: --scale {scale:g}"
        contention.show(judged, hint, console)
    return judged


@contextmanager
def _lab(request: Request) -> Iterator[Lab]:
    """The lab of the scenario; one that stood before stands afterwards."""
    name = request.name or default_name(request.scenario)
    asked: dict[str, Any] = {"scale": request.scale, "switch": request.switch}
    with unwinding(), ExitStack() as ends:
        if request.keep:
            lab = Lab.up(request.scenario, name, **asked)
        else:
            lab = ends.enter_context(Lab.temporary(request.scenario, name, **asked))
        remove_left(lab)
        yield lab


def _checked(request: Request, lab: Lab, scenario: _core.Scenario) -> dict[str, Any]:
    if request.unchecked:
        return {}
    with Bar("calibrating", 1, request.quiet) as bar:
        ceiling = ceiling_of(lab, progress=lambda done, parts: bar.draw(done / parts, "what this machine forwards"))
    ceiling.check(offered_bps(scenario, lab.scale), mean_switches(scenario))
    return asdict(ceiling)


def _run(
    request: Request, lab: Lab, scenario: _core.Scenario, ceiling: dict[str, Any], meter: Meter, prefix: str = ""
) -> tuple[Run, Any]:
    total = len(scenario.flows()["start_ns"])
    if not total:
        raise AnabranchError("traffic: no flows; let it last longer")
    with Bar(f"{prefix}{scenario.name}", total, request.quiet) as bar:
        folder = folder_of(request.runs, scenario)
        return run(lab, scenario, folder, request.choices, ceiling=ceiling, meter=meter, watch=_drawn(bar))


def _drawn(bar: Bar) -> Callable[[int, int, int], None]:
    def watch(started: int, over: int, total: int) -> None:
        bar.draw(over, f"{over} of {total} flows done, {started - over} under way")

    return watch
