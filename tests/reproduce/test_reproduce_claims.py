"""Claims and verdicts: what is listed, and how it is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.reproduce.line import AGREES, DIFFERS, INCOMPARABLE, RANKS
from anabranch.reproduce.splitting.claims import Alternative, Claim, load_claims
from anabranch.reproduce.splitting.measures import Measures
from anabranch.reproduce.splitting.theory import Band
from anabranch.reproduce.splitting.verdict import judge

FOLDER = Path(__file__).parents[2] / "studies" / "valo" / "splitting"

STATED: dict[str, list[float]] = {
    "0.1": [2.9, 138, 21.9, 44.1],
    "0.2": [20.1, 18.6, 15.7],
    "0.3": [19.8, 14.8, 13.7, 11.5],
    "0.5": [12634, 7466, 11400, 6342, 2258],
    "0.6": [2.3, 2.5, 104.2, 14.1, 43, 7.3, 10.5, 546.5, 124.4, 57, 46.3, 6.3, 19.1],
    "0.7": [110.6, 42.9, 45.5, 5.3, 3.2, 34.8, 13.5, 14.3, 13.1],
    "0.8": [28.4, 132.3, 2.4, 90.6, 19.6, 62.1, 3.2, 4, 21.5, 11.8, 11.8, 9.4],
    "0.9": [26.8, 38.1, 1.3, 21095, 1478, 1561, 1941, 1965, 10.7],
    "0.10": [50.9, 67.7, 25.4, 18.6, 1.5, 12.1],
    "0.11": [2.2, 3.2, 2.6, 1.5, 3.4, 1.414],
    "0.12": [826.2, 113.9, 7.3, 1.004, 1.179, 7.6, 64.51, 8.45, 7.3],
    "0.16": [2.5, 22.4, 1.096, 1.16, 1.23],
    "0.17": [0.01, 98.7, 79.9],
}
"""The paper's own numbers by claim, typed in from its text."""


class Known(Measures):
    """Measures with the values and bands given."""

    def __init__(self, values: dict[str, float], bands: dict[str, Band]) -> None:
        self._given, self._known = values, bands

    def value(self, name: str) -> float:
        """The one given."""
        return self._given[name]

    def band(self, name: str, weights: tuple[int, int] | None = None) -> Band | None:
        """The one given."""
        return self._known.get(f"{name}{list(weights) if weights else ''}")

    def connections(self, name: str) -> int | None:
        """Of whatever has a value."""
        return 40_000 if name in self._given else None


KNOWN = Known({"a": 0.9, "b": 0.3, "c": 12.0}, {"a": Band(0.9, 0.83, 0.97), "a[3, 100]": Band(2.3, 2.2, 2.4)})


def claim(value: float, compare: str, measure: tuple[str, ...] = ("a",), **more: object) -> Claim:
    digits = len(repr(value).partition(".")[2])
    return Claim("0.0", "what", "where", value, digits, "%", compare, measure, **more)  # type: ignore[arg-type]


def test_every_claim_on_splitting_is_there_and_no_other() -> None:
    claims = load_claims(FOLDER)
    assert list(dict.fromkeys(claim.id for claim in claims)) == list(STATED)
    for id_, values in STATED.items():
        listed = [claim.value for claim in claims if claim.id == id_]
        for value in set(values):
            assert listed.count(value) >= values.count(value), f"{id_}: {value}"


def test_every_comparable_claim_says_how() -> None:
    for one in load_claims(FOLDER):
        assert one.measure or one.compare == "none", one.what
        assert one.compare != "none" or "none" in one.reasons, one.what
        assert one.compare != "within" or one.tolerance > 0, one.what


def test_a_band_decides() -> None:
    reasons = {"above": "{times} times; {effective} connections", "below": "low", "agrees": "fine"}
    agrees, above, below = (judge(claim(v, "band", reasons=reasons), KNOWN) for v in (0.95, 2.3, 0.5))
    assert (agrees.kind, above.kind, below.kind) == (AGREES, DIFFERS, DIFFERS)
    assert above.verdict == "differs because 2.56 times; 6,125 connections"
    assert (agrees.verdict, below.verdict) == ("agrees: fine", "differs because low")
    # Half a unit of the last printed digit counts as inside.
    assert judge(claim(1.0, "band"), KNOWN).kind == AGREES
    assert judge(claim(1.02, "band"), KNOWN).kind == DIFFERS


def test_other_readings_are_tried() -> None:
    other = Alternative("weights of 3..100", "a", (3, 100))
    fits, fails = (judge(claim(v, "band", alternatives=(other,)), KNOWN).verdict for v in (2.3, 5.0))
    assert fits == "differs because fits weights of 3..100 (2.20 to 2.40)"
    assert fails == "differs because does not fit weights of 3..100 (2.20 to 2.40)"


def test_ratios_tolerances_and_ranks() -> None:
    assert judge(claim(3.1, "within", per="b", tolerance=0.1), KNOWN).kind == AGREES
    assert judge(claim(4.0, "within", per="b", tolerance=0.1), KNOWN).kind == DIFFERS
    assert judge(claim(40.0, "order", ("c",)), KNOWN).kind == RANKS
    assert judge(claim(0.5, "order", ("c",)), KNOWN).kind == DIFFERS
    row = judge(claim(40.0, "order", ("c",), decent=("a",), reasons={"decent": "a table: {decent}"}), KNOWN)
    assert (row.kind, row.verdict) == (DIFFERS, "differs because a table: 0.900")
    assert judge(claim(5.0, "none", (), reasons={"none": "no"}), KNOWN).verdict == "cannot be compared because no"


def test_a_quick_run_does_not_judge_loads_it_has_not_run() -> None:
    known = Known({"cost-load/x/latency": 1.0}, {})
    timed = claim(1.0, "within", ("cost-load/x/latency",), tolerance=0.1)
    assert judge(timed, known).kind == AGREES
    assert judge(timed, known, quick=True).kind == INCOMPARABLE


def test_the_bound_of_jensen() -> None:
    row = judge(claim(28.4, "at-least", jensen=19.6, reasons={"below": "infeasible"}), KNOWN)
    assert (row.kind, row.theory_text) == (DIFFERS, ">= 42.2")
    assert judge(claim(50.0, "at-least", jensen=19.6), KNOWN).kind == AGREES


def test_printed_ratios_are_checked_within_their_rounding() -> None:
    assert "printed" not in judge(claim(46.3, "within", ("c",), printed=(104.2, 2.3)), KNOWN).verdict
    assert "the printed 3.4 / 2.2 is 1.55" in judge(claim(1.414, "within", ("c",), printed=(3.4, 2.2)), KNOWN).verdict


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[[claim]]\nid = "0.1"\nwhat = "x"\nwhere = "y"\nunit = "%"\nvalue = 1\ncompare = "guess"', "guess"),
        ('[[claim]]\nid = "0.1"\nwhat = "x"\nwhere = "y"\nunit = "%"\nvalue = "2 %"\ncompare = "band"', "2 %"),
        ('[[claim]]\nid = "0.7"\nvalue = 3\ncompare = "band"\ntheory = 2', "0.7"),
        ('[[claim]]\nid = "0.7"\nvalue = 3\ncompare = "band"\nreasons.beside = "x"', "beside"),
        ("[[claim]\n", "expected.toml"),
    ],
)
def test_a_wrong_claim_is_named(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "expected.toml").write_text(text)
    with pytest.raises(AnabranchError, match=named) as error:
        load_claims(tmp_path)
    assert str(tmp_path / "expected.toml") in str(error.value)
