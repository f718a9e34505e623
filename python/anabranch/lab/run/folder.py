"""The folder of a run in a lab: the same files as of a simulated one, and what the machine and the switches were."""

from __future__ import annotations

import json
import platform
import resource
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from anabranch import _core
from anabranch.files.atomic_folder import written_whole
from anabranch.lab.calibration.contention import Contention
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.traffic import flow_results, port_watch
from anabranch.lab.traffic.flow_results import FlowResults
from anabranch.simulate.runs.execute import peak_rss_bytes
from anabranch.simulate.runs.folder import MANIFEST
from anabranch.simulate.runs.frames import beside_numbers, write_frames
from anabranch.simulate.runs.manifest import DEFINITIONS, measure, origin, plain
from anabranch.simulate.runs.results import Run

DEFINED = DEFINITIONS | {
    "fct_ns": "flow completion time: from the moment when the list wants the flow to start to the moment when the "
    "receiving process has read its last byte; connection set-up is part of it unless a connection was idle",
}


@dataclass(frozen=True)
class Measured:
    """All that a run in a lab leaves; times are the lab's, which are the scenario's divided by its scale."""

    lab: Lab
    scenario: _core.Scenario
    results: FlowResults
    ports: pl.DataFrame
    lost_packets: int
    ideal_fct_ns: list[float]
    forwarding: str
    burst_frames: int | None
    changes: list[str]
    started_at: str
    wall_s: float
    ceiling: dict[str, Any]
    machine: Contention


def write(measured: Measured, folder: Path) -> Run:
    """Writes it, whole or not at all, in place of what was there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    nodes = measured.scenario.topology()["nodes"]["name"]
    tables = {
        "flows": beside_numbers(_flows(measured), ("src", "dst"), nodes),
        "ports": beside_numbers(measured.ports, ("from", "to"), nodes),
    }
    with written_whole(folder) as part:
        files = {"scenario.toml": 1, "topology.json": 1} | write_frames(tables, part, csv=False)
        (part / "scenario.toml").write_text(measured.scenario.resolved_toml(), encoding="utf-8")
        topology = json.dumps(_topology(measured), default=lambda array: array.tolist())
        (part / "topology.json").write_text(topology + "\n", encoding="utf-8")
        manifest = json.dumps(_manifest(measured, tables["flows"], files), indent=1, allow_nan=False)
        (part / MANIFEST).write_text(manifest + "\n", encoding="utf-8")
    return Run(folder)


def _flows(measured: Measured) -> pl.DataFrame:
    ideal = pl.Series("ideal_fct_ns", measured.ideal_fct_ns, dtype=pl.Float64)
    frame = measured.results.flows.with_columns(ideal)
    jobs = pl.Series("job", measured.scenario.flows()["job"], dtype=pl.UInt64)
    window = measure(measured.scenario, measured.lab.scale)
    counts = pl.col("start_ns") >= window["from_ns"]
    if window["to_ns"] is not None:
        counts &= pl.col("start_ns") < window["to_ns"]
    slowdown = pl.col("fct_ns") / pl.col("ideal_fct_ns")
    return frame.with_columns(jobs, slowdown=slowdown, stream=pl.lit(value=True), measured=counts)


def _topology(measured: Measured) -> dict[str, Any]:
    """The scenario's, at the lab's rates and times."""
    topology, scale = measured.scenario.topology(), measured.lab.scale
    topology["ports"]["rate_bps"] = [measured.lab.scaled(rate) for rate in topology["ports"]["rate_bps"]]
    for change in topology["changes"]:
        change["at_ns"] /= scale
        if change["what"] == "port_rate":
            change["value"] *= scale
    return topology


def _manifest(measured: Measured, flows: pl.DataFrame, files: dict[str, int]) -> dict[str, Any]:
    scenario, results, ports = measured.scenario, measured.results, measured.ports
    columns = (
        *flow_results.COLUMNS,
        ("ideal_fct_ns", "real", DEFINITIONS["ideal_fct_ns"]),
        ("job", "integer", "The incast it belongs to; null if none."),
        ("slowdown", "real", "fct_ns / ideal_fct_ns; null if unfinished."),
        ("stream", "boolean", "Whether it is a TCP stream: always."),
        ("measured", "boolean", "Whether it began in the window of `measure`: statistics are of these flows alone."),
        ("src_name", "name", "Name of the host that sends."),
        ("dst_name", "name", "Name of the host that receives."),
    )
    of_ports = (
        *port_watch.COLUMNS,
        ("from_name", "name", "Name of the node that sends."),
        ("to_name", "name", "Name of the node that receives."),
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        **origin(scenario, ["anabranch", *sys.argv[1:]], measured.started_at),
        "end_ns": results.elapsed_ns,
        "packet_hops": int(ports["sent_packets"].sum()),
        "flows_finished": flows.height - results.unfinished,
        "dropped_packets": int(ports["dropped_packets"].sum()),
        "lost_packets": measured.lost_packets,
        "marked_packets": int(ports["marked_packets"].sum()),
        "balancer": {},
        "wall_s": measured.wall_s,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_rss_bytes": peak_rss_bytes(),
        "measure": measure(scenario, measured.lab.scale),
        "flows_total": flows.height,
        "flows_unfinished": results.unfinished,
        "offered_load": _offered(measured),
        "warnings": results.warnings(),
        "lab": _lab(measured),
        "definitions": DEFINED,
        "columns": {
            table: {name: {"type": kind, "meaning": meaning} for name, kind, meaning in rows}
            for table, rows in (("flows", columns), ("ports", of_ports))
        },
        "files": files,
    }


def _offered(measured: Measured) -> list[dict[str, Any]]:
    """The scenario's load in the lab's bits a second."""
    scale = measured.lab.scale
    return [
        {key: plain(value) * scale if key.endswith("_bps") else plain(value) for key, value in row.items()}
        for row in measured.scenario.offered_load()
    ]


def _lab(measured: Measured) -> dict[str, Any]:
    lab, results = measured.lab, measured.results
    return {
        "kernel": f"{platform.release()} {platform.version()}",
        "switch": lab.switching.version(),
        "forwarding": measured.forwarding,
        "scale": lab.scale,
        "burst_frames": measured.burst_frames,
        "ceiling": measured.ceiling,
        "machine": asdict(measured.machine),
        "goodput_bps": results.goodput_bps,
        "late_p99_ns": results.late_p99_ns,
        "generator_cpu_s": results.cpu_ns / 1e9,
        "connections": results.connections,
        "changes": measured.changes,
        "counters": results.counters,
        "settings": results.settings,
    }
