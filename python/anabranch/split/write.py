"""A result as plain data and as CSV rows."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

from anabranch.split.job import Result

DEFINITIONS = {
    "mape_pct": "mean over the paths of |got - asked| / asked connections, in percent (VALO Eq. 1)",
    "floor_pct": "expected mape_pct of an ideal splitter that places each connection independently",
    "expected_pct": "expected mape_pct of the plan over many such traces, under a perfect hash of as many bits that "
    "puts as many connections together on a slot as this trace's",
    "byte_mape_pct": "as mape_pct, over bytes on the wire",
    "byte_floor_pct": "expected byte_mape_pct of an ideal splitter of whole connections of these sizes",
    "asked": "share of each path, w_i / sum of w",
    "got_connections": "connections by path; where packets of one may differ, by the path of its first packet",
    "ns_per_decision": "median over repetitions of batches of decisions on this machine, hashing not included",
    "moved": "connections on another path after the change, all taken as alive; each change starts from the weights, "
    "and its error is that of all connections after it; of a drain, those that began before it and are on another path "
    "before its deadline, and the error of the later ones; of a slow start, those that move when the path comes back; "
    "of a bounded load, those on another path than without the bound",
    "minimum": "connections that had to move: total variation of the asked shares, those on the dead path, or none for "
    "a drain and a bounded load",
}

COLUMNS = [
    "technique",
    "path",
    "weight",
    "asked_share",
    "asked_connections",
    "got_connections",
    "asked_bytes",
    "got_bytes",
    "mape_pct",
    "floor_pct",
    "byte_mape_pct",
    "ns_per_decision",
    "state_bytes",
]


def record(result: Result) -> dict[str, Any]:
    """Converts the result to plain data, in the order of the registry."""
    trace, request = result.trace, result.request
    return {
        "versions": result.versions,
        "definitions": DEFINITIONS,
        "trace": {
            "name": trace.name,
            "connections": len(trace),
            "five_tuples": trace.five_tuples,
            "conversations": trace.conversations,
            "packets": int(trace.packets.sum()),
            "bytes": int(trace.bytes.sum()),
            "read_seconds": result.read_seconds,
            "table_bytes": trace.table_bytes,
            "counts": trace.counts,
            "damage": trace.damage,
        },
        "weights": list(request.weights),
        "hash": asdict(result.collisions),
        "seed": request.seed,
        "direction": request.direction,
        "encapsulation": request.encapsulation,
        "floor_pct": result.floor_pct,
        "floor_band_pct": list(result.floor_band_pct),
        "techniques": [asdict(outcome) for outcome in result.techniques],
        "refused": [{"name": name, "reason": reason} for name, reason in result.refused],
    }


def as_csv(result: Result) -> str:
    """Converts the result to CSV, one row per technique and path."""
    connections, total_bytes = len(result.trace), int(result.trace.bytes.sum())
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for outcome in result.techniques:
        for path, weight in enumerate(result.request.weights):
            share = outcome.asked[path]
            got_connections, got_bytes = outcome.got_connections[path], outcome.got_bytes[path]
            row = [outcome.label, path + 1, weight, share, share * connections, got_connections]
            row += [share * total_bytes, got_bytes, outcome.mape_pct, outcome.floor_pct]
            row += [outcome.byte_mape_pct, outcome.ns_per_decision, outcome.state_bytes]
            writer.writerow(row)
    return out.getvalue()
