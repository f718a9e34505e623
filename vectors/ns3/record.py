#!/usr/bin/env python3
"""Records what ns-3 makes of lists of flows: `load-L-seed-S.csv`, a row per flow, and `runs.csv`, a row per run.

    vectors/ns3/record.py [--jobs 1] [--program PATH]

Needs Debian's libns3-dev (installed if root). Each run takes half a minute; 18 runs.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench" / "ns3"))

import flow_list  # noqa: E402
import program  # noqa: E402

LOADS = (0.3, 0.6, 0.8)
SEEDS = (1, 2, 3)
CONTROLS = ("dctcp", "linux-reno")
FLOWS = 400
SUMS = ("flows_finished", "packet_hops", "dropped_packets", "marked_packets", "end_ns")
PATHS_OF_OUR_OWN = ("flows", "out")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--program", type=Path, help="another build of leaf_spine.cc")
    parser.add_argument("--to", type=Path, default=HERE)
    arguments = parser.parse_args()
    built = arguments.program or program.build()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        scratch = Path(folder)

        def run(cell: tuple[float, int, str]) -> dict[str, Any]:
            load, seed, control = cell
            flows = scratch / f"{load}-{seed}-{control}-list.csv"
            flow_list.write(islice(flow_list.flows(flow_list.Fabric(), load, seed), FLOWS), flows)
            report = program.run(built, flows, scratch / f"{load}-{seed}-{control}.csv", control=control)
            print(f"load {load} seed {seed} {control}: {report['wall_s']:.0f} s", flush=True)
            return {"load": load, "seed": seed} | report

        runs = list(pool.map(run, product(LOADS, SEEDS, CONTROLS)))
        for load, seed in product(LOADS, SEEDS):
            outcomes = []
            for control in CONTROLS:
                with (scratch / f"{load}-{seed}-{control}.csv").open() as file:
                    outcomes.append([str(round(int(row["fct_ps"]) / 1000)) for row in csv.DictReader(file)])
            lines = (scratch / f"{load}-{seed}-{CONTROLS[0]}-list.csv").read_text().splitlines()
            columns = [f"{control.replace('-', '_')}_fct_ns" for control in CONTROLS]
            rows = [",".join([lines[0], *columns])]
            rows += [",".join(row) for row in zip(lines[1:], *outcomes, strict=True)]
            (arguments.to / f"load-{load}-seed-{seed}.csv").write_text("\n".join([*rows, ""]))
    # Settings, then what came of them; times on the wall are nobody's golden data.
    settings = [key for key in runs[0] if key not in (*SUMS, *PATHS_OF_OUR_OWN, "events", "wall_s", "peak_rss_bytes")]
    with (arguments.to / "runs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*settings, *SUMS], extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)


if __name__ == "__main__":
    main()
