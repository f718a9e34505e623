"""Processor time of collectives whose repeated messages are replayed, beside the same runs packet by packet.

    python bench/replay.py

Rows: the end of the job and the processor time of the simulation, both ways in turn; how far apart the ends are; the
share of messages that were simulated; and the error that the run states (docs/replay.md).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import anabranch as ab
from anabranch.files.units import duration

SCENARIO = """name = "replay"
[fabric]
kind = "leaf-spine"
{preset}
leaves = {side}
spines = {side}
hosts_per_leaf = {side}
link = {{ rate = "400 Gbps", delay = "500 ns" }}
[routing]
balance = "{balance}"
[transport]
{transport}
[framing]
mss = "{mss} B"
[[traffic]]
kind = "graph"
collective = "{collective}"
size = "{size} B"
"""
RING = 'all-reduce"\nalgorithm = "ring'
PAIRWISE = 'all-to-all"\nalgorithm = "pairwise'
HALVING = 'all-reduce"\nalgorithm = "halving-doubling'
UEC = ('preset = "uec-trimming"', "uec-mixed", 'kind = "uec"')
SPRAYED = ('preset = "lossless-roce"', "spray", 'kind = "roce"\nrecovery = "selective"')
HASHED = ('preset = "lossless-roce"', "ecmp", 'kind = "roce"')
LARGE, SMALL = (16, 4096, 256_000_000), (8, 1500, 1 << 26)
WORK = {
    "ring, UEC": (LARGE, UEC, RING),
    "ring, RoCE sprayed": (LARGE, SPRAYED, RING),
    "ring, RoCE over ECMP": (LARGE, HASHED, RING),
    "all-to-all pairwise, UEC": (LARGE, UEC, PAIRWISE),
    "halving-doubling, UEC": (LARGE, UEC, HALVING),
    "ring of 64, 64 MiB, RoCE over ECMP": (SMALL, ("", "ecmp", 'kind = "roce"'), RING),
}


def main() -> None:
    """Prints a row for each piece of work."""
    print("| work | end | with replay | full, s | replay, s | ratio | simulated | stated error, mean and p99 |")
    print("|---|---|---|--:|--:|--:|--:|---|")
    for name, ((side, mss, size), (preset, balance, transport), collective) in WORK.items():
        text = SCENARIO.format(
            side=side, mss=mss, size=size, preset=preset, balance=balance, transport=transport, collective=collective
        )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "replay.toml"
            file.write_text(text, encoding="utf-8")
            full, replayed = (
                ab.run(file, changes, runs=folder, progress=False).manifest for changes in ({}, {"replay.sample": 0.05})
            )
        replay, ends = replayed["replay"], [run["end_ns"] for run in (full, replayed)]
        apart = f"{duration(ends[1])}, {100 * (ends[1] / ends[0] - 1):+.2f} %"
        simulated = replay["carried"] / (replay["carried"] + replay["replayed"])
        errors = [replay["mean_error"], replay["p99_error"]]
        stated = " / ".join("-" if error is None else f"{100 * error:+.2f} %" for error in errors)
        full_s, replay_s = full["cpu_s"], replayed["cpu_s"]
        print(
            f"| {name} | {duration(ends[0])} | {apart} | {full_s:.2f} | {replay_s:.2f} | {full_s / replay_s:.1f} "
            f"| {100 * simulated:.1f} % | {stated} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
