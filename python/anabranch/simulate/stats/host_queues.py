"""Deepest queues: in switches, which load balancers empty, or in hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

NOTABLE_BYTES = 100_000
"""Depth in bytes up to which queues of hosts are not worth a warning."""

BEGINNING = "hosts, not switches, hold the deepest queues"
"""Beginning of the warning."""


def warning(topology: Mapping[str, Any], ports: pl.DataFrame) -> str | None:
    """Warns, in a sentence, if the deepest queue of all was a host's, and notable."""
    deepest = ports.group_by("from").agg(pl.col("backlog_max_bytes").max()).sort("backlog_max_bytes", "from")
    at_host = deepest["from"] < topology["hosts"]
    hosts, switches = deepest.filter(at_host), deepest.filter(~at_host)
    if not (hosts.height and switches.height):
        return None
    bytes_of_host, bytes_of_switch = int(hosts["backlog_max_bytes"][-1]), int(switches["backlog_max_bytes"][-1])
    if bytes_of_host <= max(bytes_of_switch, NOTABLE_BYTES):
        return None
    names = topology["nodes"]["name"]
    return (
        f"{BEGINNING}: {bytes_of_host:,} bytes waited at {names[hosts['from'][-1]]}, at most {bytes_of_switch:,} at a "
        f"switch, {names[switches['from'][-1]]}: completion times tell of hosts more than of load balancing; hint: "
        'host.nic = "fair" with a small host.limit, or a smaller transport.window_max'
    )
