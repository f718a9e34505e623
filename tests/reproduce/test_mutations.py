"""The judge tested by mutation: a paper's technique is broken, and the verdicts that name it must turn.

Each study is tiny, and its claims are of the paper's kind. The whole technique meets them; what stands in its place
under its name does not.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from anabranch import Splitter
from anabranch.files.project.studies.valo.splitting import accuracy, validation
from anabranch.files.project.studies.valo.splitting.evidence import SplitterEvidence
from anabranch.files.project.studies.valo.splitting.job import run
from anabranch.files.project.studies.valo.splitting.splitting import Splitting
from anabranch.files.project.studies.valo.splitting.study import Study, Sweep, load
from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import AGREES, FAILS, HOLDS, NO_ORACLE, VOID, Line
from support.command import anabranch
from support.mutation import Mutation, fabric, judged

SPLITTING = Path(__file__).parents[2] / "studies" / "valo" / "splitting"
POINTS = {
    "default": ((4, 40_000),),
    "weights": ((4, 40_000),),
    "load": ((4, 1000), (4, 120_000)),
    "paths": ((2, 40_000), (8, 40_000)),
    "small": ((4, 100),),
}
BROKEN = ("valo", "wcmp", "scoring", "wrr", "weighted-random", "wfq")


def small_splitting() -> Study:
    study = load(SPLITTING, quick=True)
    return replace(
        study,
        trials=6,
        sweeps={name: Sweep(name, points) for name, points in POINTS.items()},
        cost=replace(study.cost, connections=(100,), paths=(4,), paths_connections=100, packets=64, repetitions=1),
        changes=replace(study.changes, per_second=(1,), connections=50, packets_per_second=50),
    )


def splitting(claims: list[Claim]) -> list[Line]:
    evidence = SplitterEvidence(run(small_splitting()), claims)
    return [judge("valo/splitting", claim, evidence) for claim in claims]


def equal_split(name: str, weights: Any, *given: Any, **parameters: Any) -> Any:
    """A splitter; those of `BROKEN` send connections over all paths in turn, whatever their weights."""
    made, paths = Splitter(name, weights, *given, **parameters), len(weights)
    if name not in BROKEN:
        return made
    return SimpleNamespace(pick=lambda keys: (np.arange(len(keys)) % paths).astype(np.uint16), shares=made.shares)


def names_broken(claim: Claim) -> bool:
    """Whether a claim on accuracy names a technique that is broken; `random` is an equal split itself."""
    measure: Any = claim.measure
    names = [] if measure is None else [*measure.of, *filter(None, [measure.over])]
    parts = [name.split("/") for name in names if not name.startswith(("cost-", "changes/", "hashes/"))]
    techniques = {part[1].partition(":")[0] for part in parts if part[0] != "validation"}
    counts = any(part[0] == "validation" and part[2].startswith("count") for part in parts)
    return counts or bool(techniques & set(BROKEN))


def test_an_equal_split_turns_every_verdict_on_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = load_expected(SPLITTING, True, Splitting().read_measure).claims
    whole = splitting(claims)
    assert FAILS not in {line.check for line in whole}
    monkeypatch.setattr(accuracy, "Splitter", equal_split)
    monkeypatch.setattr(validation, "Splitter", equal_split)
    broken = splitting(claims)
    named = [(before, after) for claim, before, after in zip(claims, whole, broken, strict=True) if names_broken(claim)]
    assert len(named) > 40
    assert [before.what for before, after in named if after.kind != VOID] == []
    assert {before.check for before, _ in named} == {HOLDS}
    others = {after.check for claim, after in zip(claims, broken, strict=True) if not names_broken(claim)}
    assert others <= {HOLDS, NO_ORACLE}


UPLINKS = 'out_of = ["leaf0>spine0", "leaf0>spine1"]'
FIXED = "fixed = 2026-11-22\n"

VALO = Mutation(
    fabric(buffer="300 KB", slow="250 Mbps", sizes="100 KB", load=0.5, capacity="1250 Mbps", flows=150)
    + 'ecmp = { routing.balance = "ecmp" }\n',
    FIXED
    + """
[[theory]]
name = "weights"
what = "distance of the split from 4:1, beside chance"
source = "each flow draws its path by the weights"
between = [0.1, 3]
measure = { quantity = "split deviation", ports = ["leaf0>spine0", "leaf0>spine1"], weights = [4, 1], of = "valo" }

[[claim]]
id = "1"
what = "AFCT below that of flows in equal parts"
where = "here"
text = "lower"
least = 0
compare = "sign"
theory = "weights"
measure = { quantity = "fct", of = "valo", over = "ecmp", as = "reduction" }
""",
    whole='valo = { routing.balance = "valo", routing.weights = "capacity" }',
    # Every path the same, whatever the weights.
    broken='valo = { routing.balance = "valo", routing.weights = "equal" }',
)

WINO = Mutation(
    fabric(buffer="300 KB", slow="250 Mbps", sizes="100 KB", load=0.5, capacity="1250 Mbps", flows=150).replace(
        "initial_rto", "dup_ack_threshold = 300\ninitial_rto"
    )
    + 'spray = { routing.balance = "spray" }\n',
    FIXED
    + f"""
[[theory]]
name = "slices"
what = "bytes over the whole uplink beside one of a quarter, in percent"
source = "slices in proportion to rates"
between = [75, 85]
measure = {{ quantity = "share of bytes", ports = ["leaf0>spine0"], {UPLINKS}, of = "wino" }}

[[claim]]
id = "1"
what = "AFCT below that of packets in turn"
where = "here"
text = "asymmetry spoils spraying"
least = 0
compare = "sign"
measure = {{ quantity = "fct", of = "wino", over = "spray", as = "reduction" }}

[[claim]]
id = "2"
what = "AFCT below that of packets in turn, and slices as they must be"
where = "here"
text = "asymmetry spoils spraying"
least = 0
compare = "sign"
theory = "slices"
measure = {{ quantity = "fct", of = "wino", over = "spray", as = "reduction" }}
""",
    whole='wino = { routing.balance = "wino" }',
    broken='wino = { routing.balance = "spray" }',
)

DBB = Mutation(
    fabric(buffer="100 KB", slow="1 Gbps", sizes="2 MB", load=0.9, capacity="2 Gbps", flows=8)
    + 'rps = { routing.balance = "spray" }\n',
    FIXED
    + f"""
[[theory]]
name = "cycle"
what = "bytes over one of two equal uplinks, in percent"
source = "Algorithm 1: in turn"
between = [49.99, 50.01]
measure = {{ quantity = "share of bytes", ports = ["leaf0>spine0"], {UPLINKS}, of = "dbb" }}

[[claim]]
id = "1"
what = "segments that overtake others, fewer than under RPS"
where = "here"
text = "fewer"
most = 0
compare = "sign"
measure = {{ quantity = "reordered", of = "dbb", over = "rps", as = "difference" }}

[[claim]]
id = "2"
what = "segments that overtake others, fewer than under RPS, and the cycle as it must be"
where = "here"
text = "fewer"
most = 0
compare = "sign"
theory = "cycle"
measure = {{ quantity = "reordered", of = "dbb", over = "rps", as = "difference" }}
""",
    whole='dbb = { routing.balance = "dbb", routing.scheme.counter = "shared" }',
    # The cycle in random order: each packet draws the link that its turn would have given it.
    broken='dbb = { routing.balance = "spray" }',
)

# Equal uplinks and probes as rare as every 100th frame: what is known of paths is old, and new flows would herd on one.
RARE = 'routing.scheme.period = "5 ms", routing.scheme.phi = "10 KB", routing.scheme.delay_factor = 0.5'

TDLB = Mutation(
    fabric(buffer="100 KB", slow="1 Gbps", sizes="50 KB", load=0.6, capacity="2 Gbps", flows=200)
    + f'blind = {{ routing.balance = "tdlb", routing.scheme.detect = "nowhere", {RARE} }}\n',
    FIXED
    + """
[[claim]]
id = "1"
what = "AFCT of short flows below that without detection"
where = "here"
text = "49 %"
least = 20
compare = "value"
tolerance = 0
measure = { quantity = "fct", of = "tdlb", over = "blind", as = "reduction" }

[[claim]]
id = "2"
what = "frames dropped, fewer than without detection"
where = "here"
text = "fewer"
most = 0
compare = "sign"
measure = { quantity = "dropped", of = "tdlb", over = "blind", as = "difference" }
""",
    whole=f'tdlb = {{ routing.balance = "tdlb", {RARE} }}',
    # A threshold above the buffer: nothing is ever detected.
    broken=f'tdlb = {{ routing.balance = "tdlb", {RARE.replace("10 KB", "1 MB")} }}',
)

TDLB_FIRST = Mutation(
    fabric(buffer="100 KB", slow="50 Mbps", sizes="50 KB", load=0.5, capacity="1050 Mbps", flows=150)
    + 'ecmp = { routing.balance = "ecmp" }\n',
    FIXED
    + """
[[claim]]
id = "1"
what = "AFCT of short flows below ECMP's over a slow spine"
where = "here"
text = "86 %"
least = 30
compare = "value"
tolerance = 0
measure = { quantity = "fct", of = "tdlb", over = "ecmp", as = "reduction" }
""",
    whole='tdlb = { routing.balance = "tdlb", routing.scheme.detect = "nowhere" }',
    # New flows by their hash, and none is ever moved.
    broken='tdlb = { routing.balance = "tdlb", routing.scheme.detect = "nowhere", routing.scheme.initial = "ecmp" }',
)

LUOPAN = Mutation(
    fabric(buffer="300 KB", slow="250 Mbps", sizes="1 MB", load=0.8, capacity="1250 Mbps", flows=60)
    + 'random = { routing.balance = "flowcell" }\n',
    FIXED
    + f"""
[[claim]]
id = "1"
what = "share of the bytes over the uplink that is whole"
where = "here"
text = "more than half"
least = 55
compare = "value"
tolerance = 0
measure = {{ quantity = "share of bytes", ports = ["leaf0>spine0"], {UPLINKS}, of = "luopan" }}

[[claim]]
id = "2"
what = "AFCT below that of flowcells at random"
where = "here"
text = "lower"
least = 0
compare = "sign"
measure = {{ quantity = "fct", of = "luopan", over = "random", as = "reduction" }}
""",
    whole='luopan = { routing.balance = "luopan" }',
    # Flowcells of the same size at random: the samples are never looked at.
    broken='luopan = { routing.balance = "flowcell" }',
)


@pytest.mark.parametrize(
    "mutation",
    [VALO, WINO, DBB, TDLB, TDLB_FIRST, LUOPAN],
    ids=[
        "VALO without weights",
        "Wino without slices",
        "DBB shuffled",
        "TDLB blind",
        "TDLB hashed",
        "Luopan unprobed",
    ],
)
def test_a_broken_scheme_turns_the_verdicts_that_name_it(tmp_path: Path, mutation: Mutation) -> None:
    whole = judged(tmp_path / "whole", mutation, mutation.whole)
    assert [line.kind for line in whole] == [AGREES] * len(whole), whole
    broken = judged(tmp_path / "broken", mutation, mutation.broken)
    assert not {line.kind for line in broken} & {AGREES}, broken
    assert all((line.check == FAILS) == (line.kind == VOID) for line in broken)
    # A theory that names the technique finds it out by itself.
    assert [line.kind for line in broken if line.check == FAILS] == [VOID] * mutation.expected.count("theory = ")


def test_the_status_says_that_ours_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, scheme, status in (("whole", DBB.whole, 0), ("broken", DBB.broken, 1)):
        folder = tmp_path / "studies" / "paper" / name
        folder.mkdir(parents=True)
        (folder / "study.toml").write_text(DBB.study.replace('name = "tiny"', f'name = "{name}"', 1) + scheme + "\n")
        (folder / "expected.toml").write_text(DBB.expected)
        done = anabranch("reproduce", f"paper/{name}", "--output", "out")
        assert done.returncode == status, done.stderr
        assert ("ours is wrong" in done.stdout) == bool(status)
