"""Claims and verdicts on splitting: what is listed, and how it is judged against theory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError
from anabranch.files.project.studies.valo.splitting.measure import ValueMeasure
from anabranch.files.project.studies.valo.splitting.splitting import Splitting
from anabranch.files.project.studies.valo.splitting.theory import jensen_random_pct
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.claims.claim import Alternative, Cause, Claim, half_digit
from anabranch.reproduce.claims.claims_file import load_expected
from anabranch.reproduce.claims.measure import Measure
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import AGREES, DIFFERS, FAILS, HOLDS, INCOMPARABLE, RANKS, UNDECIDED, VOID
from anabranch.reproduce.judge.zone import Zone, agreeing
from anabranch.reproduce.values.cells import Cells
from anabranch.reproduce.values.estimate import Band, Estimate, Estimates, Oracle, Spread, seeds_deciding

FOLDER = Path(__file__).parents[2] / "studies" / "valo" / "splitting"

STATED: dict[str, list[float]] = {
    "0.1": [2.9, 138, 21.9, 44.1],
    "0.2": [20.1, 18.6, 15.7],
    "0.3": [19.8, 14.8, 13.7, 11.5],
    "0.5": [12634, 7466, 11400, 6342, 2258],
    "0.6": [2.3, 2.5, 104.2, 14.1, 43, 7.3, 10.5, 546.5, 124.4, 57, 46.3, 6.3, 19.1],
    "0.7": [110.6, 42.9, 45.5, 5.3, 3.2, 34.8, 13.5, 14.3, 13.1],
    "0.8": [28.4, 132.3, 2.4, 90.6, 19.6, 62.1, 3.2, 4, 21.5, 11.8, 11.8, 9.4, 38.1],
    "0.9": [26.8, 38.1, 1.3, 26.7, 32, 21095, 1478, 1561, 1941, 1965, 10.7],
    "0.10": [50.9, 67.7, 25.4, 18.6, 1.5, 12.1],
    "0.11": [2.2, 3.2, 2.6, 1.5, 3.4, 1.414],
    "0.12": [826.2, 113.9, 7.3, 1.004, 1.179, 7.6, 64.51, 8.45, 7.3],
    "0.16": [2.5, 22.4, 1.096, 1.16, 1.23],
    "0.17": [0.01, 98.7, 79.9],
}
"""The paper's own numbers by claim, typed in from its text."""


@dataclass(frozen=True)
class Known(CellEvidence):
    """Evidence with the values and bands given."""

    values: dict[str, float] | None = None
    bands: dict[str, Band] | None = None
    half: float = 0.0
    smaller: str = ""
    slack: float = 0.0
    oracle: Oracle | None = None

    def estimates(self, measure: Measure) -> Estimates:
        """The ones given."""
        assert isinstance(measure, ValueMeasure)
        values, bands = self.values or {}, self.bands or {}
        value = values[measure.of[0]] / (values[measure.over] if measure.over else 1.0)
        band = bands.get(f"{measure.of[0]}{list(measure.weights) if measure.weights else ''}")
        if measure.scoring is not None:
            bound = jensen_random_pct(measure.scoring)
            band = Band(bound, bound, float("inf"))
        mean = Estimate(value, value - self.half, value + self.half)
        spread = None if band is None else Spread(band, self.slack)
        return Estimates(
            *([mean], mean, [], 5),
            oracle=self.oracle,
            spread=spread,
            connections=40_000,
            smaller=self.smaller,
        )

    def rivals(self, measure: Any) -> list[tuple[str, Any]]:  # noqa: ARG002
        """None."""
        return []


def known(half: float = 0.0, smaller: str = "", slack: float = 0.0, oracle: Oracle | None = None) -> Known:
    bands = {"a": Band(0.9, 0.83, 0.97), "a[3, 100]": Band(2.3, 2.2, 2.4)}
    values = {"a": 0.9, "b": 0.3, "c": 12.0}
    return Known(Cells({}, []), (), True, values, bands, half, smaller, slack, oracle)


def of(name: str, over: str | None = None) -> ValueMeasure:
    return ValueMeasure((name,), over)


A = of("a")


def claim(paper: float, compare: str, measure: ValueMeasure = A, **more: object) -> Claim:
    given = {"tolerance": half_digit(paper), "factor": None, **more}
    return Claim("0.0", "what", "where", "text", compare, paper, paper, measure=measure, **given)  # type: ignore[arg-type]


def verdict(one: Claim, evidence: Known | None = None) -> tuple[str, str]:
    line = judge("p/f", one, evidence or known())
    return line.kind, line.reason


def test_every_claim_on_splitting_is_there_and_no_other() -> None:
    claims = load_expected(FOLDER, read=Splitting().read_measure).claims
    assert list(dict.fromkeys(claim.id for claim in claims)) == list(STATED)
    for id_, values in STATED.items():
        listed = [claim.low for claim in claims if claim.id == id_]
        for value in set(values):
            assert listed.count(value) >= values.count(value), f"{id_}: {value}"


def test_every_comparable_claim_says_how() -> None:
    for one in load_expected(FOLDER, read=Splitting().read_measure).claims:
        assert one.measure or one.compare == "none", one.what
        assert one.compare != "none" or one.reason, one.what
        assert one.compare != "value" or one.factor or one.tolerance, one.what


def test_a_band_decides() -> None:
    because = {
        "above": [Cause("{times} times; {effective} connections")],
        "below": [Cause("low", "a command")],
        "agrees": [Cause("fine {paper}")],
    }
    agrees, above, below = (verdict(claim(v, "trials", because=because)) for v in (0.95, 2.3, 0.5))
    assert above == (DIFFERS, "because 2.56 times; 6,125 connections")
    assert (agrees, below) == ((AGREES, "fine 0.950"), (DIFFERS, "because low (shown by `a command`)"))
    # Half a unit of the last printed digit counts as inside.
    assert verdict(claim(1.0, "trials"))[0] == AGREES
    assert verdict(claim(1.02, "trials"))[0] == DIFFERS
    # The place of the band is known to what our own trials allow.
    assert verdict(claim(0.95, "trials"), known(slack=0.03))[0] == UNDECIDED
    assert verdict(claim(1.02, "trials"), known(slack=0.06))[0] == UNDECIDED
    assert verdict(claim(0.90, "trials"), known(slack=0.03))[0] == AGREES


def test_trials_that_are_asked_for_place_the_band_well_enough() -> None:
    # 1.02 lies 0.05 above the band, 0.045 beyond the rounding of what is published.
    published = claim(1.02, "trials")
    assert verdict(published, known(slack=0.0449))[0] == DIFFERS
    assert verdict(published, known(slack=0.0451))[0] == UNDECIDED
    # Five trials place it to 0.06; Student's factor over the root falls from 2.776 / 5**0.5 to 2.447 / 7**0.5.
    assert judge("p/f", published, known(slack=0.06)).needed == 7


def test_ours_is_held_against_theory_before_the_paper_is_held_against_ours() -> None:
    right, wrong = (Oracle(0.9, low, 1.0, "a closed form") for low in (0.8, 0.95))
    line = judge("p/f", claim(0.95, "trials"), known(oracle=right))
    assert (line.kind, line.check, line.checked_by) == (AGREES, HOLDS, "0.90, 0.80 to 1.00 expected (a closed form)")
    line = judge("p/f", claim(0.95, "trials"), known(oracle=wrong))
    assert (line.kind, line.check) == (VOID, FAILS)
    assert "0.900, 0.950 to 1.000 expected" in line.reason


def test_other_readings_are_tried() -> None:
    other = Alternative("weights of 3..100", ValueMeasure(("a",), weights=(3, 100)))
    fits, fails = (verdict(claim(v, "trials", alternatives=(other,)))[1] for v in (2.3, 5.0))
    assert fits == "because fits weights of 3..100 (2.20 to 2.40)"
    assert fails == "because does not fit weights of 3..100 (2.20 to 2.40)"


def test_factors_and_ranks() -> None:
    ratio = of("a", "b")
    assert verdict(claim(3.1, "value", ratio, factor=1.1))[0] == AGREES
    # The same side wins: a rank, as with every other backend.
    assert verdict(claim(4.0, "value", ratio, factor=1.1))[0] == RANKS
    assert verdict(claim(0.4, "value", ratio, factor=1.1))[0] == DIFFERS
    assert verdict(claim(4.0, "value", of("a"), factor=1.1))[0] == DIFFERS
    twelve = of("c", "a")
    assert verdict(claim(40.0, "rank", twelve))[0] == RANKS
    assert verdict(claim(0.5, "rank", twelve))[0] == DIFFERS
    fair = claim(40.0, "rank", twelve, fair=of("b", "a"), because={"fair": [Cause("a table: {fair}")]})
    assert verdict(fair) == (DIFFERS, "because a table: 0.333")


def test_intervals_decide_as_with_every_backend() -> None:
    ratio = of("a", "b")
    assert verdict(claim(4.0, "value", ratio, factor=1.1), known(half=0.8))[0] == UNDECIDED
    # The mean agrees, and the interval does not.
    assert verdict(claim(3.1, "value", ratio, factor=1.1), known(half=0.8))[0] == UNDECIDED
    assert verdict(claim(9.0, "value", ratio, factor=1.1), known(half=0.8))[0] == RANKS
    assert verdict(claim(9.0, "rank", ratio), known(half=2.5))[0] == UNDECIDED


def test_an_interval_close_around_no_difference_shows_that_there_is_none() -> None:
    ratio = of("a", "a")
    kind, reason = verdict(claim(1.5, "rank", ratio), known(half=0.019))
    assert kind == DIFFERS
    assert "no difference above 2 %" in reason
    assert verdict(claim(1.5, "rank", ratio), known(half=0.021))[0] == UNDECIDED
    # The paper claims no more than that itself.
    assert verdict(claim(1.01, "rank", ratio), known(half=0.019))[0] == UNDECIDED


def test_no_tolerance_carries_a_range_across_no_difference() -> None:
    ratio = of("a", "c")
    # Ours is 0.075 of the other; a factor of 20 would take the published 1.2 below it.
    assert verdict(claim(1.2, "value", ratio, factor=20.0))[0] == DIFFERS
    assert agreeing(claim(1.2, "value", ratio, factor=20.0)) == Zone(1.0, 24.0)
    assert agreeing(claim(0.9, "value", ratio, factor=2.0)) == Zone(0.45, 1.0)
    assert agreeing(claim(1.0, "value", ratio, tolerance=0.1)) == Zone(0.9, 1.1)
    assert agreeing(claim(0.9, "value", A, factor=2.0)) == Zone(0.45, 1.8)


def test_an_open_verdict_says_how_many_seeds_would_decide() -> None:
    line = judge("p/f", claim(9.0, "rank", of("a", "b")), known(half=2.5))
    # Five seeds at a half width of 2.5: a deviation of 2.01; the mean is 2 away from no difference.
    assert (line.kind, line.needed) == (UNDECIDED, 7)
    assert "about 7 seeds would decide it" in line.reason
    wide = Estimate(3.0, 0.5, 5.5)
    assert seeds_deciding(wide, 5, 2.0) == 7
    assert seeds_deciding(wide, 2, 2.0) == 3
    assert seeds_deciding(wide, 5, 0.001) is None


def test_a_full_run_decides_with_five_seeds_at_least() -> None:
    line = judge("p/f", claim(0.95, "trials"), known(), least_seeds=6)
    assert (line.kind, line.needed) == (UNDECIDED, 6)
    assert judge("p/f", claim(0.95, "trials"), known(), least_seeds=5).kind == AGREES


def test_a_quick_run_does_not_judge_loads_it_has_not_run() -> None:
    smaller = known(smaller="smaller loads")
    assert verdict(claim(0.9, "value", factor=1.1))[0] == AGREES
    assert verdict(claim(0.9, "value", factor=1.1), smaller) == (INCOMPARABLE, "because smaller loads")
    assert verdict(claim(40.0, "rank", of("c", "a")), smaller)[0] == RANKS


def test_the_bound_of_jensen() -> None:
    bound = ValueMeasure(("a",), scoring=19.6)
    line = judge("p/f", claim(28.4, "trials", bound, because={"below": [Cause("infeasible", "algebra")]}), known())
    assert (line.kind, line.because) == (DIFFERS, "infeasible (shown by `algebra`)")
    assert line.spread is not None
    assert line.spread.band.low == pytest.approx(42.2, abs=0.05)
    assert verdict(claim(50.0, "trials", bound))[0] == AGREES


def test_printed_ratios_are_checked_within_their_rounding() -> None:
    fits = claim(46.3, "value", of("c"), factor=2.0, printed=(104.2, 2.3))
    assert "printed" not in verdict(fits)[1]
    wrong = claim(1.414, "value", of("c"), factor=2.0, printed=(3.4, 2.2))
    assert "the printed 3.4 / 2.2 is 1.55" in verdict(wrong)[1]


HEAD = '# a comment\nfixed = 2026-11-22\n[[claim]]\nid = "0.7"\nwhat = "x"\nwhere = "y"\ntext = "3 %"\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('paper = 1\ncompare = "guess"', ":9: .*compare: `guess`"),
        ('paper = "2 %"\ncompare = "trials"\nmeasure = { of = "a" }', ":8: .*paper: 2 %"),
        ('paper = 3\ncompare = "trials"\ntheorie = 2', ":10: claim 1 .id 0.7.: theorie: unknown key; "),
        ('paper = 3\ncompare = "trials"\nmeasure = { of = "a" }\nbecause.beside = "x"', ":11: .*because: beside"),
        ('paper = 3\ncompare = "trials"\nmeasure = { oof = "a" }', ":10: .*oof: unknown key; did you mean of"),
        ('paper = 3\ncompare = "value"\nfactor = 0.5\nmeasure = { of = "a" }', ":10: .*factor: 0.5"),
        ('paper = 3\ncompare = "rank"\nmeasure = { of = "a" }', ":9: .*over"),
        ('compare = "value"\nfactor = 2\nmeasure = { of = "a" }', ":3: .*paper: missing"),
        ("[[claim]\n", "expected.toml"),
        ('paper = 3\ncompare = "trials"\nmeasure = { of = "a" }\nbecause = "so it is"', ":11: .*no run changes"),
        (
            'paper = 3\ncompare = "trials"\nmeasure = { of = "a" }\nbecause = [{ text = "{x}", when = "paper > x" }]',
            ":11: .*when: x: no number",
        ),
        (
            'paper = 3\ncompare = "trials"\nmeasure = { of = "a" }\nbecause = [{ text = "{ours}", when = "ours" }]',
            ":11: .*`ours`: no condition",
        ),
        ('paper = 3\ncompare = "trials"\nmeasure = { of = "a" }\nfixed = "2026"', ":11: .*fixed: 2026: no date"),
        ('paper = 3\ncompare = "trials"\nmeasure = { of = "a" }\nchosen = ["T"]', ":11: .*chosen: T"),
        ('paper = 3\ncompare = "trials"\nmeasure = { of = "a" }\ntheory = "x"', ":11: .*theory: x"),
    ],
)
def test_a_wrong_claim_is_named(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "expected.toml").write_text(HEAD + text)
    with pytest.raises(AnabranchError, match=named) as error:
        load_expected(tmp_path, read=Splitting().read_measure)
    assert str(tmp_path / "expected.toml") in str(error.value)


def test_claims_without_a_date_are_refused(tmp_path: Path) -> None:
    (tmp_path / "expected.toml").write_text(HEAD.replace("fixed = 2026-11-22\n", "") + 'compare = "none"\nreason = "r"')
    with pytest.raises(AnabranchError, match="fixed: missing"):
        load_expected(tmp_path)
