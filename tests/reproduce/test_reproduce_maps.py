"""The worst of several schemes, the distance of a split from its weights beside chance, and maps of ratios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anabranch import AnabranchError, Splitter
from anabranch.files.project.studies.valo.splitting.error_map import error_ratio
from anabranch.files.project.studies.valo.splitting.study import load
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.simulator.measured import measured
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.measure import read_measure
from anabranch.reproduce.claims.quantity import Quantity
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import AGREES
from anabranch.reproduce.pages.overview import Overview
from anabranch.reproduce.values.cells import Cells
from anabranch.reproduce.values.evaluate import evaluate
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.size_classes import ALL_FLOWS
from anabranch.split.stats.mape import mape

STUDIES = Path(__file__).parents[2] / "studies" / "valo"
CLASSES = {"all": ALL_FLOWS}
FCT = Quantity("fct")


def cells() -> Cells:
    """Three schemes over 1; the second is worst on average, the third at load 0.2."""
    made = Cells({"scheme": ["valo", "a", "b", "c"], "traffic.load": [0.2, 0.8]}, [1, 2])
    values = {"valo": (1.0, 1.0), "a": (1.5, 1.5), "b": (2.0, 8.0), "c": (3.0, 3.0)}
    for scheme, row in values.items():
        for place, number in zip((0.2, 0.8), row, strict=True):
            for seed in (1, 2):
                made.numbers[(scheme, place), seed, FCT] = number
    return made


def measure(**given: Any) -> Any:
    return read_measure({"quantity": "fct", "over": "valo", **given}, CLASSES)


def test_the_scheme_that_is_worst_on_average_counts_and_is_named(tmp_path: Path) -> None:
    found = evaluate(measure(of=["a", "b", "c"]), cells())
    assert found.mean is not None
    assert found.mean.value == pytest.approx(4.0)
    assert found.mean.point == {"scheme": "b"}
    light = evaluate(measure(of=["a", "b", "c"], at={"traffic.load": 0.2}), cells())
    assert light.mean is not None
    assert light.mean.value == pytest.approx(3.0)
    assert light.mean.point == {"scheme": "c"}
    # Where smaller numbers mean longer times, the smallest is the worst.
    saved = evaluate(measure(of=["a", "b", "c"], **{"as": "reduction"}), cells())
    assert saved.mean is not None
    assert saved.mean.value == pytest.approx(-300.0)
    assert saved.mean.point == {"scheme": "b"}
    (tmp_path / "expected.toml").write_text(
        'source = "a test"\nfixed = 2026-11-23\n[[claim]]\nid = "1"\nwhat = "worst"\nwhere = "here"\ntext = "4x"\n'
        'paper = 4\ncompare = "value"\ntolerance = 0.1\n'
        'measure = { quantity = "fct", of = ["a", "b", "c"], over = "valo" }\n'
    )
    (claim,) = load_expected(tmp_path).claims
    line = judge("p/f", claim, CellEvidence(cells()))
    assert (line.kind, line.counted) == (AGREES, True)
    assert line.ours.endswith("at scheme b")


def test_claims_of_our_own_are_judged_and_not_counted(tmp_path: Path) -> None:
    (tmp_path / "expected.toml").write_text(
        'source = "a test"\nfixed = 2026-11-23\nown = true\n[[claim]]\nid = "1"\nwhat = "twice"\nwhere = "here"\n'
        'text = "1.5x"\npaper = 1.5\ncompare = "value"\ntolerance = 0.1\n'
        'measure = { quantity = "fct", of = "a", over = "valo" }\n'
    )
    (claim,) = load_expected(tmp_path).claims
    line = judge("p/f", claim, CellEvidence(cells()))
    assert (line.kind, line.counted) == (AGREES, False)
    assert Overview("p", [line]).verdicts == "0 claims (1 more are of no publication): none"


@pytest.mark.parametrize("given", [{"of": ["a"]}, {"of": ["a", "b"], "quantity": "marked"}])
def test_a_list_of_one_or_of_what_has_no_worst_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="of: a list names two"):
        measure(**given)


PORTS = ("l>s0", "l>s1", "l>s2", "l>s3")
WEIGHTS = (81, 25, 39, 55)


def run_of(sizes: np.ndarray, port_of: np.ndarray) -> Run:
    """A run whose flows took these ports, with headers on the wire."""
    sent = [int(1.05 * sizes[port_of == port].sum()) for port in range(4)]
    topology = {
        "nodes": {"name": ["l", "s0", "s1", "s2", "s3"]},
        "ports": {"from": [0, 0, 0, 0], "to": [1, 2, 3, 4]},
    }
    packets = [int((port_of == port).sum()) for port in range(4)]
    ports = pl.DataFrame({"port": [0, 1, 2, 3], "sent_bytes": sent, "sent_packets": packets})
    flows = pl.DataFrame({"size_bytes": sizes})
    run = Run.__new__(Run)
    vars(run).update(flows=flows, ports=ports, topology=topology, folder="here", manifest={})
    return run


def deviation(sizes: np.ndarray, port_of: np.ndarray, name: str = "split deviation") -> float:
    given = {"quantity": name, "ports": list(PORTS), "weights": list(WEIGHTS), "of": "x"}
    quantity = read_measure(given, CLASSES).quantity
    found = measured(quantity, run_of(sizes, port_of))
    assert found is not None
    return found


def test_chance_makes_a_deviation_of_one_whatever_the_sizes_and_an_equal_split_is_far_from_it() -> None:
    stream = np.random.default_rng(1)
    shares = np.array(WEIGHTS) / sum(WEIGHTS)
    drawn, equal = [], []
    for _ in range(400):
        # Heavy tails: 1 + CV^2 is about 7.
        sizes = np.exp(stream.normal(10, 1.4, 700)).astype(np.int64)
        drawn.append(deviation(sizes, stream.choice(4, 700, p=shares)))
        equal.append(deviation(sizes, np.arange(700) % 4))
    assert np.mean(drawn) == pytest.approx(1.0, abs=0.15)
    # Means of four seeds, as a quick study has them.
    assert np.mean(np.reshape(drawn, (100, 4)), axis=1).max() < 3
    assert np.mean(np.reshape(equal, (100, 4)), axis=1).min() > 3


def test_the_peak_of_a_backlog_is_that_of_the_fullest_port() -> None:
    run = run_of(np.array([1000, 1000]), np.array([0, 1]))
    # Two intervals of each port, of which the larger peak counts.
    run.ports = pl.DataFrame(
        {"port": [0, 0, 1, 2, 3], "sent_bytes": [0] * 5, "backlog_max_bytes": [5000, 30_000, 20_000, 0, 90_000]}
    )
    given = {"quantity": "peak backlog", "ports": ["l>s0", "l>s1", "l>s2"], "of": "x"}
    assert measured(read_measure(given, CLASSES).quantity, run) == pytest.approx(30)
    quantity = read_measure({**given, "weights": [60, 10, 10]}, CLASSES).quantity
    assert measured(quantity, run) == pytest.approx(2)
    assert quantity.unit == "x"
    with pytest.raises(ValueError, match="allowance"):
        read_measure({**given, "weights": [60, 10]}, CLASSES)


def test_policed_frames_are_those_that_no_port_dropped() -> None:
    run = run_of(np.array([1000]), np.array([0]))
    run.ports = pl.DataFrame({"port": [0, 1], "sent_packets": [150, 50], "dropped_packets": [3, 1]})
    run.manifest["dropped_packets"] = 14
    quantity = read_measure({"quantity": "policed", "of": "x"}, CLASSES).quantity
    assert measured(quantity, run) == pytest.approx(5)


def test_packets_drawn_by_weights_deviate_by_one_and_packets_in_turn_by_nothing() -> None:
    stream = np.random.default_rng(2)
    shares = np.array(WEIGHTS) / sum(WEIGHTS)
    turns = np.repeat(np.arange(4), WEIGHTS)
    sizes = np.full(20 * len(turns), 1448)
    drawn = [deviation(sizes, stream.choice(4, len(sizes), p=shares), "packet deviation") for _ in range(400)]
    # Chi-square of three degrees of freedom over three: its standard deviation is 0.82.
    assert np.mean(drawn) == pytest.approx(1.0, abs=0.2)
    assert np.std(drawn) == pytest.approx(0.82, abs=0.2)
    assert deviation(sizes, np.tile(turns, 20), "packet deviation") == 0
    # One packet too many and one too few.
    moved = np.tile(turns, 20)
    moved[0] = 1
    assert deviation(sizes, moved, "packet deviation") == pytest.approx((1 / 1620 + 1 / 500) / 3)


@pytest.mark.parametrize("name", ["split deviation", "packet deviation"])
@pytest.mark.parametrize("weights", [[1, 1, 1], [1, 1, 1, 0], []])
def test_weights_that_do_not_fit_the_ports_are_refused(name: str, weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights: "):
        read_measure({"quantity": name, "ports": list(PORTS), "weights": weights}, CLASSES)


def test_a_map_shows_ratios_on_the_same_seeds(tmp_path: Path) -> None:
    figure = '[[figure]]\ntitle = "map"\nquantity = "fct"\nx = "scheme"\ny = "traffic.load"\nover = "valo"\n'
    (tmp_path / "expected.toml").write_text(figure)
    drawn = list(CellEvidence(cells(), load_expected(tmp_path).figures).figures())
    (axes,) = drawn[0][2].axes
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    assert texts == {(x, y): text for y, row in enumerate(MAP) for x, text in enumerate(row)}
    (tmp_path / "expected.toml").write_text(figure.replace('over = "valo"\n', ""))
    with pytest.raises(AnabranchError, match="a map has `y` and `over`"):
        load_expected(tmp_path)


MAP = (("1.50", "2.00", "3.00"), ("1.50", "8.00", "3.00"))


def test_the_map_of_errors_is_what_connections_give() -> None:
    """The splitters themselves pick for random connections, over the weights that the map draws."""
    study = load(STUDIES / "splitting", quick=True)
    paths, connections, draws = 4, 10_000, 40
    stream, picks = np.random.default_rng([study.seed, paths]), np.random.default_rng(7)
    errors = np.zeros(2)
    low, high = study.weight_range
    for weights in stream.integers(low, high + 1, size=(draws, paths)).tolist():
        keys = picks.integers(0, 1 << 63, connections, dtype=np.uint64)
        made = Splitter("wcmp", weights, entries=24), Splitter("valo", weights)
        errors += [mape(np.array(weights) / sum(weights), np.bincount(one.pick(keys), minlength=paths)) for one in made]
    assert errors[0] / errors[1] == pytest.approx(error_ratio(study, paths, 24, connections, draws), rel=0.1)
