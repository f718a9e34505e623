"""Measures and verdicts on small frames and on examples counted by hand."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anabranch import AnabranchError
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.simulator.measured import measured
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.measure import CellMeasure, read_classes, read_measure
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import AGREES, BLIND, DIFFERS, FAILS, INCOMPARABLE, NOT_RUN, RANKS, UNDECIDED, VOID
from anabranch.reproduce.pages.overview import Overview
from anabranch.reproduce.values.cells import LEFT_OUT, Cells
from anabranch.reproduce.values.evaluate import evaluate
from anabranch.reproduce.values.ranking import rank
from anabranch.simulate.runs.results import Run

CLASSES = read_classes({"mice": {"upto": "10 KB"}, "large": {"above": "10 KB", "upto": "1 MB"}})

FLOWS = pl.DataFrame(
    {
        "src": [0, 0, 1, 1],
        "dst": [2, 2, 3, 3],
        "size_bytes": [10_000, 20_000, 10_001, 500_000],
        "received_bytes": [10_000, 20_000, 10_001, 500_000],
        "start_ns": [0.0, 1000.0, 0.0, 0.0],
        "fct_ns": [1000.0, 3000.0, 2000.0, 4000.0],
        "slowdown": [1.0, 2.0, 3.0, 4.0],
        "sent_packets": [10, 20, 10, 60],
        "reordered_packets": [0, 1, 0, 2],
        "triple_duplicates": [0, 0, 1, 4],
        "retransmitted_packets": [0, 0, 0, 5],
        "marked_packets": [1, 0, 0, 0],
        "job": [0, 0, 1, 1],
        "finished": [True, True, True, True],
    }
)
PORTS = pl.DataFrame(
    {
        "port": [0, 1, 2, 0],
        "sent_bytes": [100, 300, 600, 100],
        "sent_packets": [1, 2, 5, 2],
        "length_ns": [10.0, 10.0, 10.0, 30.0],
        "utilization": [0.1, 0.2, 0.3, 0.5],
    }
)
TOPOLOGY = {
    "nodes": {"name": ["host0", "leaf0", "spine0", "spine1"]},
    "ports": {"from": [1, 1, 0], "to": [2, 3, 1], "rate_bps": [10**9, 10**9, 10**10], "delay_ns": [1000, 2000, 500]},
}
QUEUES = pl.DataFrame(
    {"port": [0, 1, 0, 1, 0, 1], "time_ns": [0, 0, 10, 10, 20, 20], "backlog_bytes": [0, 1000, 500, 0, 250, 250]}
)


def run_of(flows: pl.DataFrame = FLOWS, record: dict[str, str] | None = None) -> Run:
    """A run with these tables, and no folder behind it."""
    run = Run.__new__(Run)
    counts = {"flows_total": flows.height, "flows_unfinished": 0, "lost_packets": 0, "marked_packets": 0}
    vars(run).update(
        flows=flows,
        ports=PORTS,
        queues=QUEUES,
        topology=TOPOLOGY,
        manifest={"dropped_packets": 1, "end_ns": 10_000.0, "balancer": {"stayed": 3, "moved": 4}, **counts},
        scenario={"record": record or {}},
        folder="here",
    )
    return run


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"quantity": "fct"}, 0.0025),
        ({"quantity": "fct", "class": "mice"}, 0.001),
        ({"quantity": "fct", "class": "large", "statistic": "p50"}, 0.003),
        ({"quantity": "fct", "statistic": "p50/mean"}, 0.8),
        ({"quantity": "slowdown"}, 2.5),
        # 80, 53.33, 40.004 and 1000 bits a nanosecond.
        ({"quantity": "throughput"}, (80 + 160 / 3 + 40.004 + 1000) / 4),
        # 30,000 bytes from 0 to 4 us, 510,001 from 0 to 4 us.
        ({"quantity": "goodput"}, 60 + 1020.002),
        ({"quantity": "job time", "statistic": "mean"}, 0.004),
        ({"quantity": "share of bytes", "ports": ["leaf0>spine0"], "out_of": ["leaf0>spine0", "leaf0>spine1"]}, 40.0),
        ({"quantity": "utilisation", "ports": ["leaf0>spine0"]}, 40.0),
        # 1000, 500 and 500 bytes in both queues, 8 bits a nanosecond, behind links of 1 and 2 us.
        ({"quantity": "path delay", "ports": ["leaf0>spine0", "leaf0>spine1"]}, (11 + 7 + 7) / 3),
        ({"quantity": "path delay", "ports": ["leaf0>spine0", "leaf0>spine1"], "statistic": "p50"}, 7.0),
        (
            {
                "quantity": "path delay",
                "ports": ["leaf0>spine0", "leaf0>spine1"],
                "out_of": ["leaf0>spine1"],
                "statistic": "p50",
            },
            7 / 4,
        ),
        ({"quantity": "share of flows", "class": "mice"}, 25.0),
        ({"quantity": "triple duplicates"}, 5.0),
        ({"quantity": "reordered"}, 3.0),
        ({"quantity": "reordered", "class": "large"}, 100 * 3 / 90),
        ({"quantity": "retransmitted"}, 5.0),
        ({"quantity": "marked"}, 1.0),
        ({"quantity": "dropped"}, 10.0),
        ({"quantity": "decisions", "counts": ["stayed"]}, 3.0),
        ({"quantity": "decisions", "counts": ["stayed", "moved"]}, 7.0),
    ],
)
def test_quantities_are_what_one_counts_by_hand(given: dict[str, Any], value: float) -> None:
    quantity = read_measure({**given, "of": "x"}, CLASSES).quantity
    assert measured(quantity, run_of()) == pytest.approx(value)


def test_what_cannot_be_told_is_none() -> None:
    assert measured(Quantity("decisions", counts=("stayed", "asked")), run_of()) is None, "nobody counts it"
    unfinished = FLOWS.with_columns(finished=pl.Series([True, True, True, False]))
    assert measured(Quantity("goodput"), run_of(record={"omit": "4 us"})) is None, "no time is left"
    assert measured(Quantity("fct"), run_of(unfinished)) == pytest.approx(0.002)
    assert measured(Quantity("fct", statistic="p99"), run_of()) is None
    assert measured(Quantity("fct", read_classes({"none": {"above": "1 GB"}})["none"]), run_of()) is None


def test_goodput_is_what_applications_received_in_the_time_that_counts() -> None:
    # Host 1's second flow has 100,000 bytes at the end, at 10 us; host 0's last begins at 1 us and ends at 4 us.
    going = FLOWS.with_columns(
        fct_ns=pl.Series([1000.0, 3000.0, 2000.0, None]), received_bytes=pl.Series([0, 15_000, 1, 100_000])
    )
    assert measured(Quantity("goodput"), run_of(going)) == pytest.approx(8 * (15 / 4 + 100.001 / 10))
    omitted = run_of(going, {"omit": "2 us"})
    assert measured(Quantity("goodput"), omitted) == pytest.approx(8 * (15 / 2 + 100.001 / 8))


def test_a_port_that_there_is_not_is_named() -> None:
    with pytest.raises(AnabranchError, match="leaf0>spine9"):
        measured(Quantity("share of bytes", ports=("leaf0>spine9",), out_of=("leaf0>spine0",)), run_of())
    with pytest.raises(AnabranchError, match=r"host0>leaf0: a queue among these was not sampled; add them"):
        measured(Quantity("path delay", ports=("host0>leaf0",)), run_of())


FCT = Quantity("fct")
NUMBERS = {
    # (scheme, load): one value per seed.
    ("good", 0.2): [1.0, 2.0],
    ("good", 0.8): [2.0, 8.0],
    ("bad", 0.2): [2.0, 4.0],
    ("bad", 0.8): [8.0, 16.0],
    ("same", 0.2): [1.1, 1.9],
    ("same", 0.8): [1.9, 8.2],
}


def values(numbers: dict[tuple[str, float], list[float]] = NUMBERS, seeds: int = 2) -> Cells:
    made = Cells(
        {"scheme": ["good", "bad", "same", "new"], "traffic.load": [0.2, 0.8]},
        list(range(1, seeds + 1)),
        left_out={"scheme": [], "traffic.load": [0.5]},
    )
    for (scheme, load), row in numbers.items():
        for seed, number in enumerate(row[:seeds], start=1):
            made.numbers[(scheme, load), seed, FCT] = number
            made.unfinished[(scheme, load), seed, FCT] = (0, 100)
    for load in (0.2, 0.8):
        for seed in made.seeds:
            made.missing[("new", load), seed] = "no `new` here"
    return made


def measure(**given: Any) -> Any:
    return read_measure({"quantity": "fct", **{key.rstrip("_"): value for key, value in given.items()}}, CLASSES)


def test_pairs_of_the_same_seed_and_point_are_compared() -> None:
    found = evaluate(measure(of="bad", over="good", as_="ratio", across="each"), values())
    # 2 and 2 at load 0.2; 4 and 2 at load 0.8, whose geometric mean is the root of 8.
    assert [one.point for one in found.points] == [{"traffic.load": 0.2}, {"traffic.load": 0.8}]
    assert [one.value for one in found.points] == pytest.approx([2.0, math.sqrt(8)])
    # Per seed over both loads: the roots of 2 x 4 and of 2 x 2.
    assert found.mean is not None
    assert found.mean.value == pytest.approx(math.sqrt(math.sqrt(8) * 2))
    assert found.seeds == 2


def test_the_interval_is_students_over_seeds() -> None:
    found = evaluate(measure(of="bad", over="good", as_="reduction", at={"traffic.load": 0.8}), values())
    assert found.mean is not None
    # Logarithms log 4 and log 2: mean 1.5 log 2, deviation log 2 / sqrt 2, t(1, 0.975) = 12.706.
    half = 12.7062 * math.log(2) / 2
    assert found.mean.value == pytest.approx(100 * (1 - math.sqrt(8)))
    assert found.mean.low == pytest.approx(100 * (1 - math.sqrt(8) * math.exp(half)), rel=1e-4)
    assert found.mean.high == pytest.approx(100 * (1 - math.sqrt(8) * math.exp(-half)), rel=1e-4)


def test_one_axis_may_be_set_against_itself() -> None:
    ends = {"of": {"scheme": "good", "traffic": {"load": 0.8}}, "over": {"scheme": "good", "traffic.load": 0.2}}
    found = evaluate(measure(**ends, as_="increase"), values())
    assert found.mean is not None
    assert found.mean.value == pytest.approx(100 * (math.sqrt(2 * 4) - 1))


def test_one_seed_has_no_interval() -> None:
    found = evaluate(measure(of="bad", over="good"), values(seeds=1))
    assert found.mean is not None
    assert (found.mean.low, found.mean.high) == (None, None)


def test_cells_that_did_not_run_are_told_of() -> None:
    found = evaluate(measure(of="new", over="good"), values())
    assert found.mean is None
    assert found.missing == ["no `new` here"]
    left_out = evaluate(measure(of="bad", over="good", at={"traffic.load": [0.2, 0.5]}), values())
    assert left_out.mean is not None
    assert left_out.missing == [f"load 0.5: {LEFT_OUT}"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"of": "goood"}, "goood.*did you mean good"),
        ({"of": {"schema": "good"}}, "schema.*did you mean scheme"),
        ({"of": "good", "at": {"load": 0.2}}, "load"),
        ({"of": "good", "at": {"scheme": "bad"}}, "compared by"),
    ],
)
def test_a_measure_of_what_there_is_not_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(AnabranchError, match=named):
        evaluate(measure(**given), values())


def test_an_order_is_judged_pair_by_pair() -> None:
    numbers = {key: [*row, 1.5 * row[1], 1.2 * row[0]] for key, row in NUMBERS.items()}
    found = rank(measure(order=["good", "same", "bad", "new"]), values(numbers, 4))
    assert found.contradicted == []
    assert found.open == [("good", "same")]
    assert found.missing == ["new (no `new` here)"]
    assert [scheme for scheme, _ in found.ranked][-1] == "bad"
    assert rank(measure(order=["bad", ["good", "same"]]), values(numbers, 4)).contradicted == [
        ("bad", "good"),
        ("bad", "same"),
    ]


def test_an_order_stands_values_of_zero() -> None:
    numbers = {**NUMBERS, ("good", 0.2): [0.0, 0.0], ("good", 0.8): [0.0, 0.0]}
    assert rank(measure(order=["good", "bad"]), values(numbers)).open == [("good", "bad")]
    single = rank(measure(order=["bad", "good"]), values(numbers, 1))
    # One seed shows an order and settles none.
    assert single.open == [("bad", "good")]


HEAD = 'fixed = 2026-11-22\n[[claim]]\nid = "1"\nwhat = "w"\nwhere = "f"\ntext = "t"\n'


# Twice the other at load 0.2, on every seed, whose intervals have no width.
EVEN = {
    ("good", 0.2): [1.0, 1.0],
    ("bad", 0.2): [2.0, 2.0],
    ("same", 0.2): [1.0, 1.0],
    ("good", 0.8): [1.0, 3.0],
    ("same", 0.8): [1.1, 2.9],
}


@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        ('paper = 100\ncompare = "value"\ntolerance = 20\nmeasure = { A, as = "increase", P }', AGREES),
        ('paper = [90, 100]\ncompare = "value"\ntolerance = 1\nmeasure = { A, as = "increase", P }', AGREES),
        ('paper = 50\ncompare = "value"\ntolerance = 20\nmeasure = { A, as = "increase", P }', RANKS),
        ('paper = -50\ncompare = "value"\ntolerance = 20\nmeasure = { A, as = "increase", P }', DIFFERS),
        # The tolerance would take the range across no difference, to where ours is.
        ('paper = -50\ncompare = "value"\ntolerance = 200\nmeasure = { A, as = "increase", P }', DIFFERS),
        ('most = 10\ncompare = "value"\ntolerance = 5\nmeasure = { A, as = "increase", P }', DIFFERS),
        ('least = 80\ncompare = "value"\ntolerance = 5\nmeasure = { A, as = "increase", P }', AGREES),
        ('paper = 10\ncompare = "rank"\nmeasure = { A, as = "increase", P }', RANKS),
        ('least = 0\ncompare = "sign"\nmeasure = { A, as = "increase", P }', AGREES),
        ('most = 0\ncompare = "sign"\nmeasure = { A, as = "increase", P }', DIFFERS),
        ('paper = 0.5\ncompare = "rank"\nmeasure = { A, as = "ratio", P }', DIFFERS),
        ('most = 1\ncompare = "rank"\nmeasure = { A, as = "ratio", P }', DIFFERS),
        ('least = 1\ncompare = "sign"\nmeasure = { A, as = "ratio", P }', AGREES),
        ('most = 0\ncompare = "sign"\nmeasure = { A, as = "reduction", P }', AGREES),
        # No difference at all, on every seed; then one that the interval holds.
        ('paper = 0.5\ncompare = "rank"\nmeasure = { B, as = "ratio", P }', DIFFERS),
        ('paper = 0.5\ncompare = "rank"\nmeasure = { B, as = "ratio", Q }', UNDECIDED),
        ('paper = 2\ncompare = "value"\ntolerance = 0.2\nmeasure = { quantity = "fct", of = "bad", P }', AGREES),
        # Every scheme lies between 0 and 4: the number tells nobody apart.
        ('paper = 2\ncompare = "value"\ntolerance = 2\nmeasure = { quantity = "fct", of = "bad", P }', BLIND),
        # The mean agrees, and the interval, of 1 and 3, does not.
        ('paper = 2\ncompare = "value"\ntolerance = 0.2\nmeasure = { quantity = "fct", of = "good", Q }', UNDECIDED),
        ('paper = 9\ncompare = "value"\ntolerance = 0.2\nmeasure = { quantity = "fct", of = "bad", P }', DIFFERS),
        ('paper = 10\ncompare = "rank"\nmeasure = { quantity = "fct", of = "new", over = "bad", P }', NOT_RUN),
        ('compare = "order"\nmeasure = { quantity = "fct", order = ["good", "bad"], P }', AGREES),
        ('compare = "order"\nmeasure = { quantity = "fct", order = ["bad", "good"], P }', DIFFERS),
        ('compare = "order"\nmeasure = { quantity = "fct", order = ["bad", "new"], P }', NOT_RUN),
        ('compare = "none"\nreason = "r"', INCOMPARABLE),
    ],
)
def test_verdicts(tmp_path: Path, claim: str, kind: str) -> None:
    text = claim.replace("A,", 'quantity = "fct", of = "bad", over = "good",')
    text = text.replace("B,", 'quantity = "fct", of = "same", over = "good",')
    text = text.replace("P", "at = { traffic.load = 0.2 }").replace("Q", "at = { traffic.load = 0.8 }")
    text += '\nbecause = { text = "of this", shown_by = "a command" }\n'
    (tmp_path / "expected.toml").write_text(HEAD + text)
    (found,) = load_expected(tmp_path).claims
    line = judge("p/f", found, CellEvidence(values(EVEN)))
    assert line.kind == kind, line
    # Of what holds there is nothing to explain.
    explained = kind in (DIFFERS, RANKS)
    assert ("of this (shown by `a command`)" in line.because) == explained


@pytest.mark.parametrize(("worst", "kind"), [(5.0, BLIND), (1.0, AGREES)])
def test_a_change_that_every_scheme_shows_tells_nobody_apart(tmp_path: Path, worst: float, kind: str) -> None:
    sides = ["{ scheme = 'good', traffic.load = 0.8 }", "{ scheme = 'good', traffic.load = 0.2 }"]
    text = f"measure = {{ quantity = 'fct', of = {sides[0]}, over = {sides[1]}, as = 'increase' }}\n"
    (tmp_path / "expected.toml").write_text(HEAD + 'least = 0\ncompare = "sign"\n' + text)
    (claim,) = load_expected(tmp_path).claims
    loads = {("good", 0.2): 1.0, ("good", 0.8): 2.0, ("bad", 0.2): 2.0, ("bad", 0.8): worst, ("same", 0.2): 1.0}
    cells = values({cell: [value, value] for cell, value in {**loads, ("same", 0.8): 3.0}.items()})
    assert judge("p/f", claim, CellEvidence(cells)).kind == kind


def test_two_seeds_that_disagree_decide_nothing_and_say_what_would(tmp_path: Path) -> None:
    text = 'paper = 10\ncompare = "value"\ntolerance = 1\nmeasure = { quantity = "fct", of = "bad", over = "good" }\n'
    (tmp_path / "expected.toml").write_text(HEAD + text)
    (claim,) = load_expected(tmp_path).claims
    line = judge("p/f", claim, CellEvidence(values()))
    assert line.kind == UNDECIDED
    assert re.search(r"the interval holds both; about \d+ seeds would decide it", line.reason)
    assert line.needed is not None
    assert 3 <= line.needed < 10


def test_what_a_quick_run_measures_in_place_is_another_claim(tmp_path: Path) -> None:
    text = (
        'paper = 100\ncompare = "value"\ntolerance = 20\nquick = { statistic = "p99" }\n'
        'measure = { quantity = "fct", statistic = "p99.9", of = "bad", over = "good", as = "increase", '
        "at = { traffic.load = 0.2 } }\n"
    )
    (tmp_path / "expected.toml").write_text(HEAD + text)
    cells = values(EVEN)
    for (cell, seed, quantity), number in list(cells.numbers.items()):
        for statistic in ("p99", "p99.9"):
            cells.numbers[cell, seed, replace(quantity, statistic=statistic)] = number
    for quick, kind in ((False, AGREES), (True, RANKS)):
        (claim,) = load_expected(tmp_path, quick).claims
        line = judge("p/f", claim, CellEvidence(cells))
        assert (line.kind, "p99 in place of p99.9" in line.reason) == (kind, quick)


def test_a_number_that_holds_under_several_settings_counts_once(tmp_path: Path) -> None:
    text = (
        'paper = 100\ncompare = "value"\ntolerance = 20\nper = { traffic.load = [0.2, 0.8] }\n'
        'measure = { quantity = "fct", of = "bad", over = "good", as = "increase" }\n'
    )
    (tmp_path / "expected.toml").write_text(HEAD + text)
    lines = [judge("p/f", claim, CellEvidence(values())) for claim in load_expected(tmp_path).claims]
    assert [(line.what, line.counted) for line in lines] == [("w; load: 0.2", True), ("w; load: 0.8", False)]
    assert lines[0].value != lines[1].value
    assert lines[1].repeats == "load 0.2"
    (paper,) = [Overview("p", lines)]
    assert sum(paper.kinds.values()) == 1


def test_a_cause_sets_the_number_of_another_setting_beside_its_own(tmp_path: Path) -> None:
    text = (
        'paper = 1000\ncompare = "value"\ntolerance = 20\nper = { traffic.load = [0.2, 0.8] }\n'
        'measure = { quantity = "fct", of = "bad", over = "good", as = "increase" }\n'
        'because = "{own} here, {high} at 0.8"\n'
        'fields.own = { quantity = "fct", of = "bad", over = "good", as = "increase" }\n'
        'fields.high = { quantity = "fct", of = "bad", over = "good", as = "increase", at = { traffic.load = 0.8 } }\n'
    )
    (tmp_path / "expected.toml").write_text(HEAD + text)
    low, _ = load_expected(tmp_path).claims
    line = judge("p/f", low, CellEvidence(values()))
    assert line.because.startswith("100.0 here, ")
    assert line.because != "100.0 here, 100.0 at 0.8"


def test_a_number_of_the_claim_comes_before_one_of_the_same_name(tmp_path: Path) -> None:
    text = (
        'paper = 1000\ncompare = "value"\ntolerance = 20\n'
        'measure = { quantity = "fct", of = "bad", over = "good", as = "increase", at = { traffic.load = 0.2 } }\n'
        'because = "{times} times"\n'
        'fields.times = { quantity = "fct", of = "bad", over = "good", at = { traffic.load = 0.2 } }\n'
    )
    (tmp_path / "expected.toml").write_text(HEAD + text)
    (claim,) = load_expected(tmp_path).claims
    assert judge("p/f", claim, CellEvidence(values())).because == "2.00 times"
    plain = replace(claim, fields={})
    assert judge("p/f", plain, CellEvidence(values())).because == "10.0 times"


@pytest.mark.parametrize(
    ("causes", "text"),
    [
        ('[{ text = "more than {room}", when = "paper > room" }, "less than {room}"]', "less than 2,000"),
        ('[{ text = "less than {room}", when = "paper < room" }, "more than {room}"]', "less than 2,000"),
        ('[{ text = "more than {ours}", when = "paper > ours" }, "less than {ours}"]', "more than 100.0"),
        ('{ above = ["{room}"], below = ["not {room}"] }', "2,000"),
        ('[{ text = "more than {room}", when = "paper > room" }]', ""),
        # A number that was not measured fulfils no condition.
        ('[{ text = "{unknown}", when = "paper > unknown" }, { text = "{x}", when = "x < ours" }, "{room}"]', "2,000"),
    ],
)
def test_the_cause_follows_from_the_numbers(tmp_path: Path, causes: str, text: str) -> None:
    claim = (
        'paper = 1000\ncompare = "value"\ntolerance = 20\n'
        'measure = { quantity = "fct", of = "bad", over = "good", as = "increase", at = { traffic.load = 0.2 } }\n'
        f"because = {causes}\n"
        'fields.room = { quantity = "goodput", of = "bad", at = { traffic.load = 0.2 } }\n'
        'fields.unknown = { quantity = "fct", of = "new" }\n'
        'fields.x = { quantity = "fct", of = "new" }\n'
    )
    (tmp_path / "expected.toml").write_text(HEAD + claim)
    (found,) = load_expected(tmp_path).claims
    cells = values(EVEN)
    cells.numbers.update(
        {(*key, Quantity("goodput")): 2000.0 for key in dict.fromkeys(key[:2] for key in cells.numbers)}
    )
    line = judge("p/f", found, CellEvidence(cells))
    assert line.kind == RANKS
    assert line.because == text


THEORY = """
[[theory]]
name = "twice"
what = "time of bad"
source = "arithmetic"
between = [BETWEEN]
measure = { quantity = "fct", of = "bad", at = { traffic.load = 0.2 } }
"""


@pytest.mark.parametrize(("between", "kind"), [("1.9, 2.1", AGREES), ("2.1, 3", VOID)])
def test_a_theory_that_fails_voids_the_claims_that_name_it(tmp_path: Path, between: str, kind: str) -> None:
    text = (
        'paper = 2\ncompare = "value"\ntolerance = 0.2\ntheory = "twice"\nmeasure = { quantity = "fct", of = "bad", P }'
    )
    text = text.replace("P", "at = { traffic.load = 0.2 }")
    (tmp_path / "expected.toml").write_text(HEAD + text + THEORY.replace("BETWEEN", between))
    (claim,) = load_expected(tmp_path).claims
    line = judge("p/f", claim, CellEvidence(values(EVEN)))
    assert (line.kind, "time of bad: 2.00" in line.checked_by) == (kind, True)


def test_a_run_that_passes_a_bound_voids_its_claims(tmp_path: Path) -> None:
    text = 'paper = 2\ncompare = "value"\ntolerance = 0.2\nmeasure = { quantity = "fct", of = "bad", P }'
    (tmp_path / "expected.toml").write_text(HEAD + text.replace("P", "at = { traffic.load = 0.2 }"))
    (claim,) = load_expected(tmp_path).claims
    cells = values(EVEN)
    cells.broken[("bad", 0.2), 2] = "faster than light"
    line = judge("p/f", claim, CellEvidence(cells))
    assert (line.kind, line.check, line.reason) == (VOID, FAILS, "faster than light")


def test_a_quick_claim_may_be_measured_otherwise(tmp_path: Path) -> None:
    row = 'paper = 10\ncompare = "rank"\nmeasure = { quantity = "fct", statistic = "p99.9", of = "a", over = "b" }\n'
    (tmp_path / "expected.toml").write_text(HEAD + row + 'quick = { statistic = "p95" }\n')
    for quick, statistic in ((False, "p99.9"), (True, "p95")):
        (claim,) = load_expected(tmp_path, quick).claims
        assert isinstance(claim.measure, CellMeasure)
        assert claim.measure.quantity.statistic == statistic


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('compare = "value"\ntolerance = 1\nmeasure = { quantity = "fct", of = "a" }', "paper"),
        ('paper = 1\ncompare = "value"\nmeasure = { quantity = "fct", of = "a" }', "tolerance"),
        ('paper = 1\ncompare = "rank"\nmeasure = { quantity = "fct", of = "a" }', "over"),
        ('paper = 1\ncompare = "rank"\nmeasure = { quantity = "fcd", of = "a", over = "b" }', "did you mean fct"),
        ('paper = 1\ncompare = "rank"\nmeasure = { quantity = "fct", class = "mice", of = "a", over = "b" }', "mice"),
        ('paper = 1\ncompare = "rank"\nmeasure = { quantity = "fct", statistic = "p98", of = "a", over = "b" }', "p98"),
        ('compare = "order"\nmeasure = { quantity = "fct", of = "a" }', "order"),
        ('compare = "order"\nmeasure = { quantity = "share of flows", order = ["a", "b"] }', "nobody is better"),
        ('compare = "none"', "reason"),
        ('compare = "nought"', "nought"),
        ('compare = "none"\nreason = "r"\nbecuase = "x"', "becuase"),
    ],
)
def test_a_wrong_claim_is_named(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "expected.toml").write_text(HEAD + text + "\n")
    with pytest.raises(AnabranchError, match=named) as error:
        load_expected(tmp_path)
    assert "claim 1 (id 1)" in str(error.value)
