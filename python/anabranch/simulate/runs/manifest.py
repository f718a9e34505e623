"""Manifest of a run: its origin, its program and machine, and its outcome."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from anabranch import _core
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.execute import Executed
from anabranch.simulate.stats import host_queues, replay, retransmission

DEFINITIONS = {
    "fct_ns": "flow completion time: from the flow's start, when its sender is told to send, to the arrival of its "
    "last byte, in order, at the receiving application; connection set-up is part of it where the scenario has one",
    "ideal_fct_ns": "FCT of the same flow alone in the fabric as built, on a shortest path, under the same framing: "
    "what no scheme and no transport can undercut",
    "slowdown": "fct_ns / ideal_fct_ns; 1 is perfect",
    "load": "payload of all flows over the time of arrivals and the reference capacity that the scenario names; "
    "headers, preamble and gap add 6.2 % to it on the wire, and acknowledgements come on top",
    "quantile": "nearest rank: the smallest value that at least this fraction of the finished flows does not exceed; "
    "left out where fewer than 1 / (1 - q) flows finished",
    "unfinished": "flows that began and had not ended when the simulation did; they are in no mean and no quantile",
}


def origin(scenario: _core.Scenario, command: Sequence[str], started_at: str) -> dict[str, Any]:
    """Origin of a run, simulated or in a lab: scenario, program, machine."""
    return {
        "name": scenario.name,
        "identity": scenario.identity,
        "version": _core.VERSION,
        "optimised": _core.OPTIMISED,
        "model_version": scenario.model_version,
        "seed": parse_toml(scenario.resolved_toml(), scenario.name).get("seed"),
        "command": list(command),
        "started_at": started_at,
        "machine": f"{platform.machine()} {platform.system()} {platform.release()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    }


def manifest(
    scenario: _core.Scenario,
    executed: Executed,
    topology: Mapping[str, Any],
    ports: pl.DataFrame,
    flows: pl.LazyFrame,
    files: dict[str, int],
    command: Sequence[str],
) -> dict[str, Any]:
    """Manifest as plain data, ready for JSON."""
    totals, flows_total = executed.run.totals, executed.run.flows_total
    counts = dict(executed.run.counts)
    lines = (
        host_queues.warning(topology, ports),
        retransmission.warning(flows, ports, retransmission.refused_sends(counts)),
        replay.sentence(executed.run.replay),
    )
    return {
        **origin(scenario, command, executed.started_at),
        **{key: plain(value) for key, value in totals.items()},
        "balancer": counts,
        "threads": executed.run.threads,
        "one_thread": executed.run.one_thread,
        "replay": executed.run.replay,
        "wall_s": executed.wall_s,
        "cpu_s": executed.cpu_s,
        "peak_rss_bytes": executed.peak_rss_bytes,
        "measure": measure(scenario),
        "flows_total": flows_total,
        "flows_unfinished": flows_total - int(totals["flows_finished"]),
        "offered_load": [{key: plain(value) for key, value in row.items()} for row in scenario.offered_load()],
        "warnings": [*scenario.warnings(), *(sentence for sentence in lines if sentence)],
        "definitions": DEFINITIONS,
        "columns": {
            table: {name: {"type": kind, "meaning": meaning} for name, kind, meaning in rows}
            for table, rows in _core.columns().items()
        },
        "files": files,
    }


def measure(scenario: _core.Scenario, scale: float = 1.0) -> dict[str, float | None]:
    """Window of measurement, in nanoseconds of a run whose time is the scenario's divided by `scale`."""
    from_ns, to_ns = scenario.measure_ns
    return {"from_ns": from_ns / scale, "to_ns": None if to_ns is None else to_ns / scale}


def plain(value: Any) -> Any:
    """Converts a NumPy number to Python's own."""
    return value.item() if hasattr(value, "item") else value
