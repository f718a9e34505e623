"""Completion times in the columns of HPCC and conweave-ns3, for scripts that read those.

A line for each flow that has finished, in the order in which they end: addresses of source and destination in
hexadecimal, UDP ports, bytes, start, completion time, and that of the flow alone, in nanoseconds: `qp_finish` in
`simulation/scratch/third.cc` of alibaba-edu/High-Precision-Congestion-Control. The address of node n is 11.x.y.1 with n
in its middle bytes; source ports count from 10000 what a host has sent, destination ports from 100 what it received,
as in conweave-ns3.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import polars as pl

from anabranch.files.atomic_file import write_whole

FIRST_SOURCE_PORT, FIRST_DESTINATION_PORT, PORTS = 10_000, 100, 1 << 16


def write_fct(flows: pl.DataFrame, path: Path) -> int:
    """Writes the flows of a run; returns how many had finished.

    Raises:
        AnabranchError: the file cannot be written.

    """
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    lines: list[tuple[float, str]] = []
    columns = ("src", "dst", "src_name", "dst_name", "size_bytes", "start_ns", "fct_ns", "ideal_fct_ns")
    for src, dst, src_name, dst_name, size, start, fct, ideal in flows.sort("flow").select(columns).iter_rows():
        ports = f"{(FIRST_SOURCE_PORT + sent[src]) % PORTS} {(FIRST_DESTINATION_PORT + received[dst]) % PORTS}"
        sent[src] += 1
        received[dst] += 1
        if fct is not None:
            ends = f"{address(str(src_name), src):08x} {address(str(dst_name), dst):08x}"
            lines.append((start + fct, f"{ends} {ports} {size} {start:.0f} {fct:.0f} {ideal:.0f}\n"))
    write_whole(path, "".join(line for _, line in sorted(lines, key=lambda line: line[0])))
    return len(lines)


def address(name: str, host: int) -> int:
    """Address of a node by the number at the end of its name, or of the host where it has none."""
    digits = re.search(r"\d+$", name)
    number = int(digits[0]) if digits is not None else host
    return 0x0B000001 + (number // 256 << 16) + (number % 256 << 8)
