"""Warnings of transports that fight themselves, on flows made by hand and on a run that does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch.simulate.stats.retransmission import BEGINNING, refused_sends, warning

WHOLE = {
    "size_bytes": 10_000,
    "received_bytes": 10_000,
    "sent_bytes": 10_000,
    "finished": True,
    "dropped_packets": 0,
    "lost_packets": 0,
    "retransmitted_packets": 0,
    "reordered_packets": 0,
    "timeouts": 0,
}
NONE_TRIMMED = pl.DataFrame({"trimmed_packets": [0, 0]})


def flows(**changes: Any) -> pl.DataFrame:
    """Four flows, the last of which is otherwise."""
    rows = [WHOLE, WHOLE, WHOLE, WHOLE | changes]
    return pl.DataFrame([{"flow": flow, **row} for flow, row in enumerate(rows)])


@pytest.mark.parametrize(
    ("changes", "refused", "said"),
    [
        ({}, 0, None),
        # A quarter of one flow's bytes in vain is 6 % of all.
        ({"sent_bytes": 12_500, "retransmitted_packets": 2}, 0, None),
        ({"timeouts": 2}, 0, "2 timeouts without a lost packet"),
        ({"sent_bytes": 60_000, "retransmitted_packets": 40}, 0, "2.25 times the bytes needed"),
        # What was lost has to be sent again; three times as many bytes have not.
        ({"sent_bytes": 60_000, "retransmitted_packets": 40, "timeouts": 9, "lost_packets": 30}, 0, None),
        ({"sent_bytes": 120_000, "retransmitted_packets": 90, "lost_packets": 3}, 0, "3.75 times the bytes needed"),
        # Of a flow that has not finished, what it has received was needed.
        (
            {"sent_bytes": 9_000, "received_bytes": 1_000, "finished": False, "retransmitted_packets": 8},
            0,
            "worst: flow 3 sent 9,000 bytes where 1,000 were needed",
        ),
        ({}, 5, "5 RNR NAKs"),
        ({}, 4, None),
    ],
)
def test_what_is_worth_a_word(changes: dict[str, Any], refused: int, said: str | None) -> None:
    sentence = warning(flows(**changes), NONE_TRIMMED, refused)
    assert (sentence is None) == (said is None), sentence
    if said is not None:
        assert sentence is not None
        assert sentence.startswith(BEGINNING)
        assert said in sentence
        assert "hint: " in sentence


def test_trimmed_packets_are_lost_too() -> None:
    trimmed = pl.DataFrame({"trimmed_packets": [0, 9]})
    assert warning(flows(timeouts=2), NONE_TRIMMED, 0) is not None
    assert warning(flows(timeouts=2), trimmed, 0) is None


def test_only_rnr_naks_are_refusals() -> None:
    assert refused_sends({"probes sent": 5, "RNR NAKs: sends that came before": 7}) == 7


def test_a_run_says_it_in_manifest_and_names_the_key(tmp_path: Path) -> None:
    """A timeout below the round trip of a queue: everything arrives, and much of it twice."""
    scenario = tmp_path / "hasty.toml"
    scenario.write_text(
        '[fabric]\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n[transport]\nkind = "uec"\n'
        '[[traffic]]\nkind = "once"\npattern = { pairs = [[0, 2], [1, 2]] }\nsizes = "1 MB"\n'
    )

    def said(**overrides: Any) -> list[str]:
        run = ab.run(scenario, overrides=overrides, runs=tmp_path / "runs")
        return [text for text in run.manifest["warnings"] if text.startswith(BEGINNING)]

    assert said() == []
    (sentence,) = said(**{"transport.rto": "30 us"})
    assert "timeouts without a lost packet" in sentence
    assert "transport.rto" in sentence
