"""The judge tested by mutation: a paper's mechanism is broken, and the verdicts that name it must turn.

One tiny study for each paper, whose claims are of the paper's kind. The mechanism as it is meets them; every mutation
of it turns those that are named here, and no others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.files.project.studies.valo.splitting.evidence import SplitterEvidence
from anabranch.files.project.studies.valo.splitting.job import run
from anabranch.files.project.studies.valo.splitting.mutated import MutatedSplitting
from anabranch.files.project.studies.valo.splitting.splitting import Splitting
from anabranch.files.project.studies.valo.splitting.study import Study, Sweep, load
from anabranch.reproduce.backends.backend import Context, Evidence
from anabranch.reproduce.claims.claim import Claim
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import AGREES, DIFFERS, FAILS, UNDECIDED, VOID, Line
from support.command import anabranch
from support.mutation import broken, fabric, turned

SPLITTING = Path(__file__).parents[2] / "studies" / "valo" / "splitting"
POINTS = {
    "default": ((4, 40_000),),
    "weights": ((4, 40_000),),
    "load": ((4, 1000), (4, 120_000)),
    "paths": ((2, 40_000), (8, 40_000)),
    "small": ((4, 100),),
}
VALO_EXACT = "valo"
"""Label of the technique that splits exactly by the weights; with coarser gravities theory has no model of it."""


def small_splitting() -> Study:
    study = load(SPLITTING, quick=True)
    return replace(
        study,
        trials=6,
        sweeps={name: Sweep(name, points) for name, points in POINTS.items()},
        cost=replace(study.cost, connections=(100,), paths=(4,), paths_connections=100, packets=64, repetitions=1),
        changes=replace(study.changes, per_second=(1,), connections=50, packets_per_second=50),
    )


def names_valo(claim: Claim) -> bool:
    """Whether a claim is on the accuracy of VALO's split."""
    measure: Any = claim.measure
    names = [] if measure is None else [*measure.of, *filter(None, [measure.over])]
    parts = [name.split("/") for name in names if not name.startswith(("cost-", "changes/", "hashes/", "validation/"))]
    return any(part[1] == VALO_EXACT for part in parts)


def test_other_gravities_turn_every_verdict_on_the_accuracy_of_valo() -> None:
    claims = load_expected(SPLITTING, True, Splitting().read_measure).claims
    evidence = SplitterEvidence(run(small_splitting()), claims)

    def judged(values: Evidence) -> list[Line]:
        return [judge("valo/splitting", claim, values) for claim in claims]

    whole = judged(evidence)
    assert FAILS not in {line.check for line in whole}
    named = [names_valo(claim) for claim in claims]
    assert sum(named) >= 10
    mutated = {name: judged(values) for name, values in MutatedSplitting().run(CONTEXT, evidence)}
    assert list(mutated) == ["gravity-equal", "gravity-plain"]
    for name, lines in mutated.items():
        left = [line.what for line, is_named in zip(lines, named, strict=True) if is_named and line.kind != VOID]
        assert left == [], name
        others = {line.check for line, is_named in zip(lines, named, strict=True) if not is_named}
        assert FAILS not in others


CONTEXT = Context(["pytest"], True, lambda text: pytest.fail(text))
UPLINKS = 'out_of = ["leaf0>spine0", "leaf0>spine1"]'
FIXED = "fixed = 2026-11-27\n"


@dataclass(frozen=True)
class Tiny:
    """A tiny study, and what each mutation turns its claims to."""

    study: str
    expected: str
    turns: dict[str, dict[str, str]]


def theory(name: str, what: str, between: list[float], measure: str) -> str:
    keys = f'name = "{name}"\nwhat = "{what}"\nsource = "its rule"'
    return f"\n[[theory]]\n{keys}\nbetween = {between}\nmeasure = {measure}\n"


def claim(name: str, what: str, rule: str, measure: str, checked: str = "") -> str:
    keys = f'id = "{name}"\nwhat = "{what}"\nwhere = "here"\ntext = "as stated"'
    text = f"\n[[claim]]\n{keys}\n{rule}\nmeasure = {measure}\n"
    return f'{text}theory = "{checked}"\n' if checked else text


def share(scheme: str) -> str:
    return f'{{ quantity = "share of bytes", ports = ["leaf0>spine0"], {UPLINKS}, of = "{scheme}" }}'


def measure(quantity: str, of: str, over: str = "", form: str = "reduction") -> str:
    beside = f', over = "{over}", as = "{form}"' if over else ""
    return f'{{ quantity = "{quantity}", of = "{of}"{beside} }}'


def least(value: float) -> str:
    return f'least = {value}\ncompare = "value"\ntolerance = 0'


def most(value: float) -> str:
    return f'most = {value}\ncompare = "value"\ntolerance = 0'


LOWER = 'least = 0\ncompare = "sign"'
FEWER = 'most = 0\ncompare = "sign"'

VALO = Tiny(
    fabric(buffer="300 KB", slow="250 Mbps", sizes="100 KB", load=0.5, capacity="1250 Mbps", flows=150)
    + 'ecmp = { routing.balance = "ecmp" }\nvalo = { routing.balance = "valo", routing.weights = "capacity" }\n',
    theory(
        "weights",
        "distance of the split from 4:1, beside chance",
        [0.1, 3],
        '{ quantity = "split deviation", ports = ["leaf0>spine0", "leaf0>spine1"], weights = [4, 1], of = "valo" }',
    )
    + claim("fct", "AFCT below that of flows in equal parts", LOWER, measure("fct", "valo", "ecmp"))
    + claim("split", "the same, and a split by the weights", LOWER, measure("fct", "valo", "ecmp"), "weights"),
    {"gravity-equal": {"fct": UNDECIDED, "split": VOID}, "gravity-plain": {"split": VOID}},
)

# No traffic is in no slice; what becomes of residuals, the north-south study shows.
WINO = Tiny(
    fabric(buffer="300 KB", slow="250 Mbps", sizes="500 KB", load=0.8, capacity="1250 Mbps", flows=40).replace(
        "initial_rto", "dup_ack_threshold = 300\ninitial_rto"
    )
    + 'spray = { routing.balance = "spray" }\n'
    + 'wino = { routing.balance = "wino", routing.scheme.burst = "20 us" }\n',
    theory("slices", "bytes over the whole uplink beside one of a quarter, in percent", [78, 80.5], share("wino"))
    + claim("fct", "AFCT below that of packets in turn", LOWER, measure("fct", "wino", "spray"))
    + claim("slices", "the same, and slices as they must be", LOWER, measure("fct", "wino", "spray"), "slices")
    + claim("meters", "meters keep a flow's duplicates down", most(2.75), measure("triple duplicates", "wino"))
    + claim("turns", "meters drop little", most(1.2), measure("dropped", "wino", "spray", "difference")),
    {
        "meters-ignored": {"meters": DIFFERS},
        "equal-slices": {"fct": DIFFERS, "slices": VOID, "meters": DIFFERS},
        "random-slices": {"meters": DIFFERS, "turns": DIFFERS},
        "residuals-ignored": {},
    },
)

# Uplinks of 10 and 3, less offered than they carry: what is left of reordering is of the cycle's order.
DBB = Tiny(
    fabric(buffer="100 KB", slow="300 Mbps", sizes="2 MB", load=0.2, capacity="1300 Mbps", flows=8)
    + 'rps = { routing.balance = "spray" }\ndbb = { routing.balance = "dbb", routing.scheme.counter = "shared" }\n',
    theory("cycle", "bytes over the whole uplink, in percent", [76.8, 77.05], share("dbb"))
    + claim("quotas", "AFCT below RPS's, and quotas as they must be", LOWER, measure("fct", "dbb", "rps"), "cycle")
    + claim("order", "flows hardly see three duplicates", most(0.3), measure("triple duplicates", "dbb")),
    {
        "random-order": {"order": DIFFERS},
        "blocks": {"order": DIFFERS},
        "random": {"quotas": VOID, "order": DIFFERS},
        "bandwidths-ignored": {"quotas": VOID, "order": DIFFERS},
    },
)

# Equal uplinks and probes as rare as every 100th frame: what is known of paths is old, and new flows would herd on one.
RARE = 'routing.scheme.period = "5 ms", routing.scheme.phi = "10 KB", routing.scheme.delay_factor = 0.5'
TDLB = Tiny(
    fabric(buffer="100 KB", slow="1 Gbps", sizes="50 KB", load=0.6, capacity="2 Gbps", flows=200)
    + f'blind = {{ routing.balance = "tdlb", routing.scheme.detect = "nowhere", {RARE} }}\n'
    + f'tdlb = {{ routing.balance = "tdlb", {RARE} }}\n',
    claim("fct", "AFCT of short flows below that without detection", least(20), measure("fct", "tdlb", "blind"))
    + claim("stay", "flows to blame stay in order", most(0.5), measure("reordered", "tdlb", "blind", "difference"))
    + claim("dropped", "fewer frames dropped", FEWER, measure("dropped", "tdlb", "blind", "difference")),
    {
        "fixed-timeout": {},
        "no-timeout": {},
        "culprits-move": {"stay": DIFFERS},
        "slowest-path": {},
        "undetected": {"fct": DIFFERS, "dropped": DIFFERS},
    },
)

TDLB_FIRST = Tiny(
    fabric(buffer="100 KB", slow="50 Mbps", sizes="50 KB", load=0.5, capacity="1050 Mbps", flows=150)
    + 'ecmp = { routing.balance = "ecmp" }\ntdlb = { routing.balance = "tdlb" }\n',
    claim("share", "bytes over the whole uplink beside one of a twentieth", least(91), share("tdlb")),
    {
        "fixed-timeout": {},
        "no-timeout": {},
        "culprits-move": {},
        "slowest-path": {"share": DIFFERS},
        "undetected": {},
    },
)

LUOPAN = Tiny(
    fabric(buffer="300 KB", slow="500 Mbps", sizes="1 MB", load=0.6, capacity="1500 Mbps", flows=60)
    + 'random = { routing.balance = "flowcell" }\nluopan = { routing.balance = "luopan" }\n',
    claim("share", "share of the bytes over the uplink that is whole", least(62), share("luopan"))
    + claim("fct", "AFCT below that of flowcells at random", LOWER, measure("fct", "luopan", "random")),
    {
        "samples-ignored": {"share": DIFFERS},
        "most-congested": {"share": DIFFERS, "fct": DIFFERS},
        "samples-stale": {"share": UNDECIDED, "fct": UNDECIDED},
    },
)

# UEC's packets over two uplinks, one at a third of the other's rate: three quarters of the bytes fit the whole one.
REPS = Tiny(
    fabric(buffer="100 KB", slow="333 Mbps", sizes="1 MB", load=0.6, capacity="1333 Mbps", flows=40).replace(
        '[scenario.transport]\nkind = "newreno"\nmin_rto = "5 ms"\ninitial_rto = "5 ms"',
        '[scenario.transport]\nkind = "uec"\nack_bytes = "1 B"',
    )
    + 'ops = { routing.balance = "uec-oblivious" }\nreps = { routing.balance = "reps" }\n',
    claim("share", "share of the bytes over the uplink that is whole", least(62), share("reps"))
    + claim("fct", "AFCT below that of random values", LOWER, measure("fct", "reps", "ops")),
    {
        "unrecycled": {"share": DIFFERS, "fct": UNDECIDED},
        "marks-ignored": {},
        "unfrozen": {},
    },
)


@pytest.mark.parametrize(
    "tiny",
    [VALO, WINO, DBB, TDLB, TDLB_FIRST, LUOPAN, REPS],
    ids=["VALO", "Wino", "DBB", "TDLB", "TDLB's first path", "Luopan", "REPS"],
)
def test_each_mutation_turns_the_verdicts_that_see_it(tmp_path: Path, tiny: Tiny) -> None:
    one = broken(tmp_path / "study", tiny.study, FIXED + tiny.expected)
    assert [line.kind for line in one.lines] == [AGREES] * len(one.lines), one.lines
    assert turned(one) == tiny.turns
    by_claim = {
        name: tuple(key for key, turns in tiny.turns.items() if name in turns)
        for name in (line.id for line in one.lines)
    }
    assert {line.id: line.turned_by for line in one.lines} == by_claim


def written(folder: Path, tiny: Tiny) -> Path:
    """The study as `paper/fig1` below `studies` of a folder."""
    study = folder / "studies" / "paper" / "fig1"
    study.mkdir(parents=True)
    (study / "study.toml").write_text(tiny.study.replace('name = "tiny"', 'name = "paper-fig1"', 1))
    (study / "expected.toml").write_text(FIXED + tiny.expected)
    return study


def test_the_table_is_printed_recorded_and_shown_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = written(tmp_path, VALO)
    done = anabranch("reproduce", "paper/fig1", "--mutations", "--record", "--output", "out", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    assert "gravity-equal: All gravities are the same, whatever the weights. It turns 2 of 2" in " ".join(
        done.stdout.split()
    )
    assert "turns if broken: gravity-equal, gravity-plain" in done.stdout
    assert "1 agrees and turns" not in done.stdout
    assert "2 agrees and turns" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 160
    document = json.loads(Path("out.json").read_text())
    assert document["mutations"]["paper/fig1"]["claims"][1]["turned_by"] == ["gravity-equal", "gravity-plain"]
    page = Path("out/paper-fig1/report.html").read_text()
    assert "verdicts with one mechanism broken on purpose" in page
    assert {path.name for path in (study / "record").iterdir()} >= {"mutations.json", "record.json"}
    # A new record leaves the table, and a changed study is named.
    assert anabranch("reproduce", "paper/fig1", "--record", "--output", "out").returncode == 0
    again = anabranch("reproduce", "paper/fig1", "--recorded", "--output", "out")
    assert "turns if broken: gravity-equal, gravity-plain" in again.stdout
    text = (study / "study.toml").read_text()
    (study / "study.toml").write_text(text.replace("load = 0.5", "load = 0.4"))
    shown = anabranch("reproduce", "paper/fig1", "--recorded", "--mutations", "--output", "out")
    assert "; study.toml has changed since" in " ".join(shown.stdout.split())


def test_the_status_says_that_ours_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that itself breaks what it claims, as code would."""
    monkeypatch.chdir(tmp_path)
    study = written(tmp_path, DBB)
    text = (study / "study.toml").read_text()
    (study / "study.toml").write_text(text.replace('"dbb", ', '"dbb", routing.mutation = "random", '))
    done = anabranch("reproduce", "paper/fig1", "--output", "out")
    assert done.returncode == 1, done.stderr
    assert "ours is wrong" in done.stdout
    silent = anabranch("reproduce", "paper/fig1", "--quiet", "--output", "out")
    assert (silent.returncode, silent.stdout) == (1, "")
    assert "paper/fig1: a check of theory fails: " in silent.stderr
    # What is broken already has no further mutations.
    assert "mutation" not in anabranch("reproduce", "paper/fig1", "--mutations", "--output", "out").stdout
