"""The tables of a run as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from anabranch.simulate.runs.interference import noted
from anabranch.simulate.stats.fct import by_class
from anabranch.simulate.stats.moments import moments
from anabranch.simulate.stats.requests import arrived, served
from anabranch.simulate.stats.starts import last_start_ns
from anabranch.simulate.stats.steps import phases
from anabranch.simulate.stats.tier_load import achieved

if TYPE_CHECKING:
    from anabranch.simulate.runs.results import Run
    from anabranch.simulate.stats.size_classes import SizeClass


def record(run: Run, classes: Sequence[SizeClass]) -> dict[str, Any]:
    """Folder, manifest, completion by size class, load by tier, steps of workload graphs, cost of jobs and requests."""
    tables: dict[str, Any] = {}
    if run.has_steps:
        tables["steps"] = run.steps.to_dicts()
        costs = noted(run)
        tables["interference"] = None if costs is None else asdict(costs)
        tables["phases"] = [asdict(one) for one in phases(run.steps, moments(run.topology))]
    if run.has_requests:
        counted = arrived(run.requests, run.window)
        tables["requests"] = counted.to_dicts()
        tables["served"] = [asdict(one) for one in served(counted, moments(run.topology))]
    return tables | {
        "results": str(run.folder),
        "manifest": run.manifest,
        "classes": by_class(run.scanned_flows, classes).to_dicts(),
        "load": [asdict(tier) for tier in achieved(run.topology, run.measured_ports, last_start_ns(run.scanned_flows))],
    }
