"""Scenarios that run in a moment, and a study of one."""

from __future__ import annotations

from pathlib import Path

SMALL = """\
name = "small"

[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2

[[traffic]]
sizes = "web-search"
load = 0.5
duration = "10 ms"

[record]
queues = "leaf0>spine0"
windows = 0
captures = "leaf0>spine0"
capture_packets = 100
events = 1000
"""

LONG = SMALL.replace("10 ms", "1000 s")
"""Would take hours."""

STUDY = """\
name = "both"
scenario = "small.toml"
seeds = 2

[axes]
traffic.load = [0.3, 0.5]
routing.balance = ["ecmp", "spray"]
"""


def write_small(where: Path) -> Path:
    """The small scenario as a file."""
    path = where / "small.toml"
    path.write_text(SMALL)
    return path


def write_small_study(where: Path, text: str = STUDY) -> Path:
    """A study as a file, beside the small scenario."""
    write_small(where)
    path = where / "study.toml"
    path.write_text(text)
    return path
