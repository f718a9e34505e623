"""A scenario run on real switches: its flows over real TCP, its changes done to real links."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.deploy.targets.registry import DEFAULT
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.lab.calibration.contention import judge
from anabranch.lab.calibration.processor_time import Meter
from anabranch.lab.fabric.topology import Lab, topology_of
from anabranch.lab.run import forwarding
from anabranch.lab.run.changes import Change, Links, refuse_partial
from anabranch.lab.run.folder import Measured, write
from anabranch.lab.run.forwarding import Switches, switches_of
from anabranch.lab.run.transport import options, time_ns
from anabranch.lab.traffic.flow_results import FlowResults
from anabranch.lab.traffic.play import Action, Endpoint, Options, Watch, play, refuse_waiting
from anabranch.lab.traffic.port_watch import PortWatch
from anabranch.simulate.runs.folder import run_folder
from anabranch.simulate.runs.results import Run

INTERVAL_LEAST_NS = 50_000_000
"""Between two readings of all ports: they take CPU that switches need."""
ALIKE = ("from", "to", "rate_bps", "buffer_bytes", "buffer_packets")


@dataclass(frozen=True)
class Choices:
    """Choices for a run in a lab, beside its scenario."""

    recipe: str = ""
    """Recipe of Open vSwitch's groups, instead of the one that goes with the scenario's table."""
    congestion_control: str = ""
    """Congestion control of Linux, instead of the scenario's."""
    burst_frames: int | None = None
    """Frames that a link may send at once to catch up with its rate; None: as the lab has it, 1 ms."""


@dataclass(frozen=True)
class Ready:
    """A lab whose switches forward as a scenario says."""

    endpoints: Sequence[Endpoint]
    options: Options
    links: Links
    switches: Switches
    changes: Sequence[Change]
    resolved: Mapping[str, Any]


def check(scenario: _core.Scenario, choices: Choices, switch: str = DEFAULT) -> None:
    """Whether any lab with such switches can do what a scenario asks; before one is made.

    Raises:
        AnabranchError: none can; it says what one can.

    """
    resolved = parse_toml(scenario.resolved_toml(), scenario.name)
    forwarding.check(resolved["routing"], switch, choices.recipe)
    options(resolved, 1.0, choices.congestion_control)
    refuse_partial(scenario.topology()["changes"])
    refuse_waiting(scenario.flows())


@contextmanager
def ready(lab: Lab, scenario: _core.Scenario, choices: Choices) -> Iterator[Ready]:
    """Has a lab forward for a while; links and switches are afterwards as they were.

    Raises:
        AnabranchError: the lab is another fabric's, or cannot do what the scenario asks; it says what it can.

    """
    resolved, topology = parse_toml(scenario.resolved_toml(), scenario.name), scenario.topology()
    _check_fabric(lab, topology)
    switches = switches_of(lab, resolved["routing"], choices.recipe)
    play_options = options(resolved, 1 / lab.scale, choices.congestion_control)
    links = Links(lab, topology, switches, choices.burst_frames)
    changes = links.changes(topology["changes"])
    endpoints = [Endpoint(host.namespace, host.address) for host in lab.hosts.values()]
    try:
        links.tighten()
        for change in changes:
            if change.at_ns == 0:
                change.apply()
        switches.install()
        yield Ready(endpoints, play_options, links, switches, changes, resolved)
    finally:
        links.restore()
        switches.clear()


def run(
    lab: Lab,
    scenario: _core.Scenario,
    folder: Path,
    choices: Choices = Choices(),
    *,
    ceiling: Mapping[str, Any] | None = None,
    meter: Meter | None = None,
    watch: Watch | None = None,
) -> tuple[Run, FlowResults]:
    """Runs a scenario in a lab that stands. Its times are the scenario's divided by the lab's scale.

    Args:
        lab: Made of the scenario's fabric.
        scenario: What to run.
        folder: Where results go.
        choices: What is done in another way than the scenario's.
        ceiling: What this machine can forward, to be kept with the results.
        meter: What the runs before this one took of the machine, and has this one added.
        watch: Told how far it is.

    Raises:
        AnabranchError: the lab is another fabric's, or cannot do what the scenario asks; it says what it can.

    """
    stretch = 1 / lab.scale
    meter = Meter() if meter is None else meter
    before = meter.spent
    flows: dict[str, Any] = dict(scenario.flows())
    flows["start_ns"] = stretch * np.asarray(flows["start_ns"], dtype=np.float64)
    # The simulator knows what each flow would take alone: one yardstick for both.
    ideal_fct_ns = (stretch * np.asarray(scenario.run().flows["ideal_fct_ns"], dtype=np.float64)).tolist()
    with ready(lab, scenario, choices) as stage:
        resolved = stage.resolved
        play_options = replace(stage.options, end_ns=stretch * time_ns(resolved["stop"], "at"))
        interval_ns = max(INTERVAL_LEAST_NS, round(stretch * time_ns(resolved["record"], "interval")))
        learns_ns = time_ns(resolved["routing"], "delay")
        actions: list[Action] = []
        for change in stage.changes:
            if change.at_ns > 0:
                actions.append((change.at_ns * stretch, _learned(change, stage.switches)))
                actions.append(((change.at_ns + learns_ns) * stretch, _installs(stage.switches)))
        started_at, wall = datetime.now(timezone.utc).isoformat(timespec="seconds"), time.perf_counter()
        with PortWatch(lab, scenario.topology(), stage.links.end) as ports, meter.running(lab.record.mark):
            played = play(
                stage.endpoints,
                flows,
                play_options,
                watch=watch,
                actions=actions,
                every_ns=interval_ns,
                sample=ports.sample,
            )
        wall_s = time.perf_counter() - wall
    late_ms = played.late_p99_ns / 1e6
    meter.late_ms.append(late_ms)
    measured = Measured(
        lab=lab,
        scenario=scenario,
        results=played,
        ports=ports.frame(),
        lost_packets=ports.lost_packets,
        ideal_fct_ns=ideal_fct_ns,
        forwarding=stage.switches.words,
        burst_frames=choices.burst_frames,
        changes=[f"{change.at_ns * stretch / 1e9:g} s: {change.words}" for change in stage.changes],
        started_at=started_at,
        wall_s=wall_s,
        ceiling=dict(ceiling or {}),
        machine=judge(Meter(meter.load_before, meter.spent - before, [late_ms]), link_bps=link_bps(lab)),
    )
    return write(measured, folder), played


def link_bps(lab: Lab) -> float:
    """The rate of most of a lab's links."""
    return float(np.median([cable.a.rate_bps for cable in lab.blueprint.cables]))


def folder_of(runs: Path, scenario: _core.Scenario) -> Path:
    """`RUNS/NAME-HASH-lab`, beside the simulator's `RUNS/NAME-HASH`."""
    simulated = run_folder(runs, scenario)
    return simulated.with_name(f"{simulated.name}-lab")


def _learned(change: Change, switches: Switches) -> Callable[[], None]:
    def act() -> None:
        change.apply()
        switches.notice()

    return act


def _installs(switches: Switches) -> Callable[[], None]:
    def act() -> None:
        switches.install()

    return act


def _check_fabric(lab: Lab, topology: Mapping[str, Any]) -> None:
    built = topology_of(lab.record.scenario, lab.record.scenario_file)
    same = built["nodes"]["name"] == topology["nodes"]["name"]
    if not same or any(list(built["ports"][key]) != list(topology["ports"][key]) for key in ALIKE):
        raise AnabranchError(f"lab {lab.name}: of another fabric; `anabranch lab down {lab.name}` first")
