"""Verdicts on a measured split: as planned, chance, or wrong."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from anabranch.deploy.targets.plan.show import show_verified
from anabranch.deploy.targets.plan.verification import SURE_PCT, Measured, Verdict, Verified
from anabranch.split.tolerance.chance import FALSE_ALARMS

PLANNED = (4 / 9, 3 / 9, 2 / 9)
ASKED_FOR = Measured("a", "hash-gravity", ("p1", "p2", "p3"), (True,) * 3, PLANNED, PLANNED, (0, 0, 0), 1.0)


def verdicts(shares: tuple[float, ...], connections: int, known: bool, draws: int = 300) -> Counter[Verdict]:
    drawn = np.random.default_rng(7).multinomial(connections, shares, draws)
    measured = (
        replace(ASKED_FOR, packets=tuple(map(int, row)), connections=connections if known else None) for row in drawn
    )
    return Counter(one.judged[0] for one in measured)


def test_right_splits_are_right_and_wrong_ones_wrong() -> None:
    # Of 300 right ones, by a band of 99.9 %, more than 3 taken for wrong are one chance in 300.
    right = verdicts(PLANNED, 20_000, known=True)
    assert right[Verdict.WRONG] <= 3
    assert right[Verdict.UNSURE] == 0
    # What weights 4:3:2 become under Open vSwitch's scorer as they are.
    assert verdicts((0.569, 0.320, 0.111), 20_000, known=True) == {Verdict.WRONG: 300}


def test_few_connections_say_nothing() -> None:
    few = verdicts(PLANNED, 100, known=True)
    assert few[Verdict.RIGHT] == 0
    assert few[Verdict.UNSURE] >= 297
    (why,) = {replace(ASKED_FOR, packets=(50, 30, 20), connections=100).judged[1]}
    assert why.startswith("too few connections: chance alone puts 100 off by")
    assert SURE_PCT == 5


def test_without_connections_only_a_near_split_is_right() -> None:
    assert verdicts(PLANNED, 1_000_000, known=False) == {Verdict.RIGHT: 300}
    far = replace(ASKED_FOR, packets=(5_690, 3_200, 1_110))
    assert far.judged[0] is Verdict.UNSURE
    # Chance alone puts so many connections this far off, and not many more.
    explained = far.explained_by
    assert far.chance(explained) >= FALSE_ALARMS > far.chance(2 * explained)


@pytest.mark.parametrize(
    ("change", "verdict", "why"),
    [
        ({"unsteady": True, "packets": (4, 3, 2)}, Verdict.UNSURE, "changed meanwhile"),
        ({}, Verdict.UNSURE, "no packet came"),
        ({"packets": (4000, 3000, 2000)}, Verdict.RIGHT, "exactly"),
        ({"planned": (0.6, 0.4, 0.0), "packets": (600, 400, 1)}, Verdict.WRONG, "1 packets left by ports that should"),
        ({"planned": (0.0, 1.0, 0.0), "packets": (0, 9, 0)}, Verdict.RIGHT, "exactly"),
        ({"planned": (0.0, 0.0, 0.0)}, Verdict.UNSURE, "no port that should carry some is up"),
        ({"packets": (402, 300, 198), "within": 4.0}, Verdict.RIGHT, "no path off by more than 4 packets"),
        ({"packets": (405, 300, 195), "within": 4.0}, Verdict.WRONG, "4 packets, and one is off by 5"),
    ],
)
def test_what_no_statistics_decide(change: dict[str, tuple[int, ...]], verdict: Verdict, why: str) -> None:
    judged, said = replace(ASKED_FOR, **change).judged  # type: ignore[arg-type]
    assert (judged, why in said) == (verdict, True), said


def test_a_dead_port_has_both_errors_and_a_sentence() -> None:
    # Three buckets of which the last is down: its turns fall to the second alone.
    dead = replace(
        ASKED_FOR, up=(True, True, False), planned=(4 / 9, 5 / 9, 0.0), packets=(4000, 5000, 0), connections=9000
    )
    assert dead.judged[0] is Verdict.RIGHT
    assert dead.mape_pct == 0
    # Of the living 4 : 3 is asked, 57.1 % and 42.9 %.
    assert dead.asked_of_living == pytest.approx((4 / 7, 3 / 7, 0))
    assert dead.asked_mape_pct == pytest.approx(50 * ((4 / 7 - 4 / 9) / (4 / 7) + (5 / 9 - 3 / 7) / (3 / 7)))
    assert dead.shortfall is not None
    port, off_pct = dead.shortfall
    assert port == "p2"
    assert off_pct == pytest.approx(100 * (5 / 9 / (3 / 7) - 1))
    written = io.StringIO()
    show_verified(Verified([], [], [dead], 1.0), Console(file=written, width=200, color_system=None))
    assert "error 0 % MAPE to planned, 25.9 % to asked" in written.getvalue()
    assert "gives p2 29.6 % more than the weights of the living ask for" in written.getvalue()


def test_no_sentence_where_the_living_get_what_is_asked() -> None:
    assert replace(ASKED_FOR, packets=(4000, 3000, 2000)).shortfall is None
    assert replace(ASKED_FOR, up=(True, True, False), planned=(4 / 7, 3 / 7, 0.0)).shortfall is None
