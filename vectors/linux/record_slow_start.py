#!/usr/bin/env python3
"""Records at how many segments Linux's CUBIC leaves slow start on short paths: `slow-start.csv`, a row per path.

    sudo vectors/linux/record_slow_start.py [--repeats 15]

A row has medians of all repeats (least round trip, window) and the least and the largest window. Needs what `record.py`
needs; on a machine that does other things, by `chrt -f 50`. Exit status 77 where something is missing, with the reason.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from bottleneck import FRAME_BYTES, Bottleneck, MissingError, namespaces
from record import EXIT_SKIP, sent

HERE = Path(__file__).resolve().parent
LIMIT_S = 60
# The server's route to the client.
BACK = "192.0.2.0/24"
# Room that no flow fills before it leaves slow start.
BUFFER_BYTES = 1000 * FRAME_BYTES
# Mbit/s and us. On paths between (100 Mbit/s and 500 us; 1 ms) the last acknowledgement of a round decides whether
# slow start goes on for another round.
CASES = tuple(
    Bottleneck(mbps * 1_000_000, delay_us, BUFFER_BYTES)
    for delay_us, rates in (
        (250, (200, 400)),
        (500, (200, 400)),
        (1500, (50, 100, 200, 400)),
        (1800, (50, 100, 200, 400)),
    )
    for mbps in rates
)


def left(case: Bottleneck) -> tuple[int, int]:
    """Least round trip in us and window in segments of one connection when HyStart ends slow start."""
    with namespaces(case) as (client, _, server):
        back = subprocess.run(
            [*server, "ip", "-j", "route", "show", BACK], check=True, capture_output=True, timeout=60
        ).stdout
        device = json.loads(back)[0]["dev"]
        # An acknowledgement for each segment, from the first to the last.
        subprocess.run([*server, "ip", "route", "change", BACK, "dev", device, "quickack", "1"], check=True, timeout=60)
        rtt_us, segments = sent(client, server, LIMIT_S, "leave").split(",")
    return int(rtt_us), int(segments)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    rows = []
    for case in CASES:
        try:
            rtts_us, windows = zip(*(left(case) for _ in range(repeats)), strict=True)
        except MissingError as missing:
            print(f"record_slow_start.py: {missing}", file=sys.stderr)
            raise SystemExit(EXIT_SKIP) from None
        middle = (statistics.median_low(rtts_us), statistics.median_low(windows))
        rows.append([case.rate_bps, case.delay_us, platform.release(), *middle, min(windows), max(windows)])
        print(*rows[-1], flush=True)
    with (HERE / "slow-start.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        columns = ["rate_bps", "delay_us", "kernel", "rtt_us", "window_segments", "least_segments", "most_segments"]
        writer.writerows([columns, *rows])


if __name__ == "__main__":
    main()
