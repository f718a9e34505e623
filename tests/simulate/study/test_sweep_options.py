"""Options of `anabranch sweep` that change a study: keys, loads, seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from anabranch.simulate.study.changed import changed
from anabranch.simulate.study.ranges import parse_numbers, parse_seeds
from anabranch.simulate.study.study import load_study
from support.small_scenario import write_small_study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_small_study(tmp_path)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.2:0.9:0.1", [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ("0.3,0.6", [0.3, 0.6]),
        ("30%,60 %", [0.3, 0.6]),
        ("20%:40%:10%", [0.2, 0.3, 0.4]),
        ("0.1,0.5:0.7:0.1", [0.1, 0.5, 0.6, 0.7]),
        ("0.2:0.55:0.1", [0.2, 0.3, 0.4, 0.5]),
    ],
)
def test_ranges_are_decimals(text: str, values: list[float]) -> None:
    assert parse_numbers(text, "loads") == values


@pytest.mark.parametrize("text", ["", "x", "0.2:0.9", "0.9:0.2:0.1", "0.2:0.9:0", "0.3,0.3", "inf", "0:1:1e-9"])
def test_what_is_no_range_is_refused_by_name(text: str) -> None:
    with pytest.raises(ab.AnabranchError, match=r"^loads: "):
        parse_numbers(text, "loads")


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", [1, 2, 3]), ("11:13", [11, 12, 13]), ("1,5", [1, 5]), ("1,4:6", [1, 4, 5, 6])]
)
def test_seeds_are_a_number_or_a_list(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text, "seeds") == seeds


@pytest.mark.parametrize("text", ["0", "", "x", "-1", "1,1", "5:3", "1.5"])
def test_what_are_no_seeds_is_refused_by_name(text: str) -> None:
    with pytest.raises(ab.AnabranchError, match=r"^seeds: "):
        parse_seeds(text, "seeds")


def test_a_sweep_takes_other_keys_loads_and_seeds(study: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    found = ab.sweep(
        study, runs=runs, overrides={"traffic.duration": "5 ms"}, loads=[0.4], seeds=[7], jobs=1, progress=False
    )
    assert [(cell.point["traffic.load"], cell.point["routing.balance"], cell.seed) for cell in found.cells] == [
        (0.4, "ecmp", 7),
        (0.4, "spray", 7),
    ]
    settings = ab.Run(found.cells[0].folder).scenario
    assert (settings["traffic"][0]["duration"], settings["traffic"][0]["load"]) == ("5 ms", 0.4)


@pytest.mark.parametrize("key", ["traffic.load", "routing", "routing.balance"])
def test_a_key_of_an_axis_cannot_be_changed_beside_it(study: Path, key: str) -> None:
    with pytest.raises(ab.AnabranchError, match=f"-o {key}: the axis "):
        changed(load_study(study), [(key, "0.5")])
