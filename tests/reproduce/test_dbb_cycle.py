"""The study of DBB's dispatching cycles: its oracle against what the paper prints, and cycles broken on purpose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.files.errors import AnabranchError
from anabranch.files.project.studies.dbb.cycle import cycle as study
from anabranch.files.project.studies.dbb.cycle import packets
from anabranch.files.project.studies.dbb.cycle.fabrics import drawn, printed
from anabranch.files.project.studies.dbb.cycle.oracle import (
    TABLE_4,
    Link,
    counted,
    cycle_of,
    exploitable,
)
from anabranch.reproduce.backends.backend import Context, Evidence
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import AGREES
from anabranch.reproduce.selection import select

FIG_2: dict[Link, int] = {
    ("S1", "S2"): 6,
    ("S1", "S3"): 6,
    ("S2", "S4"): 3,
    ("S2", "S5"): 3,
    ("S3", "S4"): 3,
    ("S3", "S5"): 3,
    ("S4", "S6"): 6,
    ("S5", "S6"): 6,
}
TABLE_3 = (
    ("S1", "S2", "S4", "S6"),
    ("S1", "S3", "S5", "S6"),
    ("S1", "S2", "S5", "S6"),
    ("S1", "S3", "S4", "S6"),
)


def test_the_oracle_says_what_the_paper_prints_of_fig_2() -> None:
    assert exploitable(FIG_2, "S1", "S6") == FIG_2
    cycle = cycle_of(FIG_2, "S1")
    assert (cycle.packets, cycle.quotas["S1", "S2"], cycle.quotas["S2", "S4"]) == (4, 2, 1)
    assert [cycle.quota(switch) for switch in ("S2", "S3", "S4", "S5", "S6")] == [2, 2, 2, 2, 4]
    assert (cycle.out_of_turn(TABLE_3), cycle.beyond_quota(TABLE_3)) == (0, 0)


def test_the_oracle_says_what_the_paper_prints_of_fig_5() -> None:
    flow = exploitable(printed().rates, "S1", "S6")
    assert flow is not None
    cycle = cycle_of(flow, "S1")
    assert cycle.packets == 10
    assert cycle == counted(TABLE_4)
    assert (cycle.out_of_turn(TABLE_4), cycle.beyond_quota(TABLE_4)) == (0, 0)


def test_of_several_maximum_flows_the_oracle_takes_none() -> None:
    rates = {**FIG_2, ("S2", "S4"): 6, ("S3", "S5"): 6}
    assert exploitable(rates, "S1", "S6") is None
    assert exploitable({**rates, ("S1", "S2"): 3}, "S1", "S6") is None


def test_drawn_fabrics_are_the_same_each_time_and_have_links_that_no_flow_fills() -> None:
    fabric = drawn(3)
    assert fabric == drawn(3)
    flow = exploitable(fabric.rates, fabric.source, fabric.sink)
    assert flow is not None
    assert any(flow[link] < rate for link, rate in fabric.rates.items())
    assert fabric != drawn(4)


def test_a_packet_that_does_not_arrive_is_named() -> None:
    fabric = printed()
    lossy = {"routing.balance": "dbb", "change.0.link": "S5-S6", "change.0.loss": 1.0}
    with pytest.raises(AnabranchError, match="dbb/cycle: a packet went by source to S1, S1 to S3, S3 to S5"):
        packets.paths(fabric, lossy, 1, 10, 1)


def test_broken_order_turns_what_is_said_of_order_and_a_broken_share_everything() -> None:
    (group,) = select(["dbb/cycle"])
    context = Context((), True, print)
    prepared = study.Cycle().prepare(group, quick=True, output=Path("runs"))
    few = replace(prepared, settings=replace(prepared.settings, draws=2))
    claims, whole = few.expected.claims, few.run(context)

    def turned(evidence: Evidence) -> set[str]:
        return {claim.id for claim in claims if judge("dbb/cycle", claim, evidence).kind != AGREES}

    assert not turned(whole)
    broken = {name: turned(evidence) for name, evidence in study.Cycle().mutated(few).run(context, whole)}
    order, all_claims = {"III-D.1", "III-D.2"}, {claim.id for claim in claims}
    assert broken == {
        "random-order": order,
        "blocks": order,
        "random": all_claims,
        "bandwidths-ignored": all_claims,
    }
