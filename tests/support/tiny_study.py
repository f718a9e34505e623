"""A study of a second or two, with claims of each kind: `studies/paper/fig1` below a folder."""

from __future__ import annotations

from pathlib import Path

from support.command import anabranch
from support.small_scenario import write_small

STUDY = """\
name = "tiny-net"
scenario = "small.toml"
seeds = 5

[axes.scheme]
ecmp = { routing.balance = "ecmp" }
spray = { routing.balance = "spray" }
unheard-of = { routing.balance = "unheard-of" }

[axes]
traffic.load = [0.3, 0.6]

[quick]
note = "2 seeds, one load"
seeds = 2
axes = { traffic.load = [0.3] }
"""
EXPECTED = """\
fixed = 2026-11-22

[[claim]]
id = "9.1"
what = "spraying"
where = "Fig. 1"
text = "1 to 90 %"
paper = [-80, 90]
compare = "value"
tolerance = 200
main = true
measure = { quantity = "fct", of = "spray", over = "ecmp", as = "reduction" }

[[claim]]
id = "9.2"
what = "a scheme of tomorrow"
where = "Fig. 2"
text = "better"
least = 5
compare = "rank"
measure = { quantity = "fct", of = "unheard-of", over = "ecmp", as = "reduction" }

[[claim]]
id = "9.3"
what = "bytes over spine 0 under spraying"
where = "Fig. 3"
text = "half"
paper = 50
compare = "value"
tolerance = 5
theory = "in turn"
measure = { quantity = "share of bytes", ports = ["leaf0>spine0"], out_of = PORTS, of = "spray" }

[[theory]]
name = "in turn"
what = "bytes over spine 0 under spraying, in percent"
source = "packets at random"
between = [48, 52]
measure = { quantity = "share of bytes", ports = ["leaf0>spine0"], out_of = PORTS, of = "spray" }

[[figure]]
title = "mean"
quantity = "fct"
x = "traffic.load"
series = "scheme"

[[figure]]
title = "by scheme"
quantity = "reordered"
x = "scheme"
""".replace("PORTS", '["leaf0>spine0", "leaf0>spine1"]')


def write_study(root: Path) -> None:
    """Writes the study and its claims below `root`."""
    folder = root / "studies" / "paper" / "fig1"
    folder.mkdir(parents=True)
    write_small(folder)
    (folder / "study.toml").write_text(STUDY)
    (folder / "expected.toml").write_text(EXPECTED)


def record_study(root: Path) -> None:
    """Writes the study below `root`, the working directory, runs it in full and keeps its record."""
    write_study(root)
    done = anabranch("reproduce", "paper/fig1", "--record", "--output", "out")
    assert done.returncode == 0, done.stderr
