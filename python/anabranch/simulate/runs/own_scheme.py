"""Runs a scenario under a scheme of one's own."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any

from anabranch._core import Progress, Scenario
from anabranch.simulate.own.scheme import Scheme, about, asked, hooks, identity, overridden
from anabranch.simulate.runs.execute import Executed, execute_watched
from anabranch.simulate.runs.folder import HASH_CHARACTERS, check_writable, read_manifest
from anabranch.simulate.runs.results import Run
from anabranch.simulate.runs.write import write

ECMP_SECONDS = 1.0
"""Longest time in seconds that ECMP is run to know its speed."""


def run_own(scenario: Scenario, scheme: Scheme, *, runs: str | Path, again: bool, csv: bool, progress: bool) -> Run:
    """Runs like `anabranch.run`. Results of a scheme without a version are neither looked for nor overwritten."""
    method = asked(scheme)
    stem = Path(runs) / f"{scenario.name}-{scheme.name}"
    own = identity(scenario, scheme)
    if own is not None:
        folder = stem.with_name(f"{stem.name}-{own[:HASH_CHARACTERS]}")
        if not again and read_manifest(folder) is not None:
            return Run(folder)
    check_writable(runs)
    from anabranch.files.terminal.run_progress import RunProgress

    with RunProgress(f"{scenario.name}, {scheme.name}", quiet=not progress) as watch:
        executed = execute_watched(scenario, watch, hooks(scheme))
    described: dict[str, Any] = about(scheme)
    if method != "weights":
        described["ecmp_packet_hops_per_s"] = ecmp = ecmp_packet_hops_per_s(scenario)
        if progress:
            print(slowdown(scheme, executed, ecmp), file=sys.stderr)
    if own is None:
        folder = next(free for number in count(1) if not (free := stem.with_name(f"{stem.name}-{number}")).exists())
    write(scenario, executed, folder, sys.argv, csv, {"identity": own, "scheme": described})
    return Run(folder)


def ecmp_packet_hops_per_s(scenario: Scenario) -> float:
    """Speed of ECMP on the same flows, the simulation alone."""
    progress = Progress()
    enough = Timer(ECMP_SECONDS, progress.cancel)
    enough.start()
    try:
        packet_hops, seconds = scenario.time_ecmp(progress)
    finally:
        enough.cancel()
    return packet_hops / max(seconds, 1e-9)


def slowdown(scheme: Scheme, executed: Executed, ecmp_packet_hops_per_s: float) -> str:
    """Describes the cost of methods in Python in one line."""
    own = int(executed.run.totals["packet_hops"]) / max(executed.wall_s, 1e-9)
    times = ecmp_packet_hops_per_s / max(own, 1e-9)
    methods = ", ".join(f"{name}()" for name in overridden(scheme))
    return (
        f"{scheme.name}: {own / 1e6:.3g} million packet-hops/s with {methods} in Python, {times:.3g} times slower than "
        f"ECMP on the same run ({ecmp_packet_hops_per_s / 1e6:.3g})"
    )
