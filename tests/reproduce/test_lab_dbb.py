"""DBB's evaluation in a small: the paper's traffic, real packets in turn and at random, the simulator beside it."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from anabranch.files.project.studies.dbb.lab import figure, rows, table
from anabranch.files.project.studies.dbb.lab import lab as dbb
from anabranch.files.project.studies.dbb.lab.cases import BY_NAME, CASES, DUPLICATES, FULL, NO_RACK, RACK, RATIOS
from anabranch.files.project.studies.dbb.lab.fabric import Fabric, fabric
from anabranch.files.project.studies.dbb.lab.measure import Row, run_lab, streams
from anabranch.files.project.studies.dbb.lab.schemes import SCHEMES
from anabranch.files.project.studies.dbb.lab.simulate import run_simulator
from anabranch.lab.traffic.queue_counters import QueueCounters, QueueReader
from anabranch.report.plot.style import save
from anabranch.reproduce.backends.cell_evidence import CellEvidence
from anabranch.reproduce.backends.lab.cell_table import LAB, SIMULATOR, as_csv
from anabranch.reproduce.judge.judge import judge
from anabranch.reproduce.judge.line import AGREES, DIFFERS, NOT_RUN
from anabranch.reproduce.selection import select
from support.lab_fixture import need_kernel_lab
from support.waiting import wait

LINK_BPS = 20_000_000
LAB_LINK_MBPS = 10
"""The least of the rates that a lab takes: also a machine that is busy with other things carries it."""
HASH, RPS, SHARED, INDEPENDENT = SCHEMES
SPAN = (0.4, 0.8)


def test_cases_offer_what_the_paper_says() -> None:
    # 20 and 40 Gb/s; 80 in section IV.D, on which the paper does not comment.
    assert [round(40 * case.offered) for case in CASES] == [20, 40, 40, 40, 40, 40, 80, 80]
    assert [4 * case.per_pair for case in CASES] == [4, 4, 40, 400, 40, 400, 40, 400]
    of_c = streams(BY_NAME["C 40"], 10e9, 0)
    assert [stream.rate_bps for stream in of_c[:10]] == pytest.approx([2e9 * ratio for ratio in RATIOS])
    of_d = streams(BY_NAME["D 40"], 10e9, 0)
    assert [stream.packet_bytes for stream in of_d[:4]] == [1500, 750, 825, 900]
    assert {(stream.source, stream.target) for stream in of_d} == {(0, 4), (1, 5), (2, 6), (3, 7)}
    assert len({stream.source_port for stream in of_d}) == 40


def test_the_simulator_fills_all_paths_in_turn_and_not_at_random() -> None:
    most = 4 * LINK_BPS * 1448 / 1538 / 1e6
    for recovery in (RACK, NO_RACK, DUPLICATES):
        shared, random = (run_simulator(LINK_BPS, FULL, recovery, scheme, (1.0, 2.0)) for scheme in (SHARED, RPS))
        assert shared.goodput_mbps == pytest.approx(most, rel=0.01)
        assert shared.disorder_pct == 0
        assert random.goodput_mbps < 0.9 * most
        assert random.disorder_pct > 3
    # Hosts' links stand for the rates of connections, and carry no more than they may.
    unlike = run_simulator(LINK_BPS, BY_NAME["C 40"], RACK, SHARED, (1.0, 2.0))
    assert unlike.goodput_mbps == pytest.approx(most, rel=0.01)
    # Packets of ten sizes: as many bytes of each on the wire leave 0.9175 to the payload.
    sizes = run_simulator(LINK_BPS, BY_NAME["D 40"], DUPLICATES, INDEPENDENT, (1.0, 2.0))
    assert sizes.goodput_mbps == pytest.approx(4 * LINK_BPS * 0.9175 / 1e6, rel=0.01)


@pytest.fixture(scope="module")
def made() -> Iterator[Fabric]:
    need_kernel_lab()
    with fabric(SHARED, LAB_LINK_MBPS) as found:
        yield found


def taken(queue: QueueCounters) -> int:
    """Packets that were sent to it."""
    return queue.sent_packets + queue.dropped_packets


def emptied(queues: QueueReader) -> bool:
    """Whether nothing waits."""
    return not any(queue.backlog_bytes for queue in queues.read().values())


def test_packets_in_turn_are_alike_on_all_paths_and_in_order(made: Fabric) -> None:
    found = {}
    for scheme in (SHARED, RPS):
        made.install(scheme)
        with QueueReader(made.lab.blueprint.switch_namespace, made.uplinks) as queues:
            before = queues.read()
            found[scheme.name] = run_lab(made, FULL, RACK, scheme, SPAN)
            wait(partial(emptied, queues), lambda: "packets wait for ever")
            after = queues.read()
        sent = [taken(after[device]) - taken(before[device]) for device in made.uplinks]
        # One counter of all packets: no path is more than a packet ahead, but for what no program sends.
        assert max(sent) - min(sent) < (10 if scheme is SHARED else sum(sent))
        assert min(sent) > sum(sent) / 5
    assert found["dbb-shared"].goodput_mbps > 0.1 * 4 * LAB_LINK_MBPS * 1448 / 1538
    assert found["rps"].disorder_pct > 3
    assert found["dbb-shared"].disorder_pct < found["rps"].disorder_pct / 2
    assert found["rps"].seen_per_s > 0


def test_flows_by_hash_keep_to_a_path(made: Fabric) -> None:
    made.install(HASH)
    row = run_lab(made, BY_NAME["A half"], DUPLICATES, HASH, (0.2, 0.4))
    # Where nothing is dropped the machine itself keeps order, but for two processors that meet, or a drop just before.
    assert row.dropped_pct > 0 or row.disorder_pct < 2
    assert row.recovery == DUPLICATES.name


def row(where: str, scheme: str, goodput_mbps: float, draw: int = 0) -> Row:
    return Row(where, "A full", "RACK", scheme, draw, False, goodput_mbps, 1.5, 7.0, 2.0, 0.5, 0.0, 1, 3.0, 0.2)


def test_lines_compare_means_with_simulator_and_paper(tmp_path: Path) -> None:
    link_bps = 50_000_000
    found = [row(LAB, "dbb-shared", 180.0), row(LAB, "dbb-shared", 190.0, 1), row(SIMULATOR, "dbb-shared", 188.0)]
    found += [row(LAB, "rps", 150.0), row(SIMULATOR, "rps", 98.0), row(LAB, "hash", 130.0)]
    published = {("dbb-shared", "A full"): 36.63, ("rps", "A full"): 15.77}
    shared, rps, hashed = rows.lines(found, link_bps, published)
    assert shared.mean("goodput_mbps") == 185.0
    assert shared.paper_mbps == pytest.approx(36.63 * 5)
    assert hashed.paper_mbps is None
    assert shared.agrees(188.0) is True
    assert rps.agrees(rps.mean("goodput_mbps", SIMULATOR)) is False
    assert hashed.agrees(hashed.mean("goodput_mbps", SIMULATOR)) is None
    assert math.isnan(hashed.mean("goodput_mbps", SIMULATOR))
    console = Console(width=140, record=True, file=io.StringIO())
    table.show([shared, rps, hashed], (RACK,), 1e9, console)
    said = console.export_text()
    assert "simulator: 1 of 2 goodputs agree" in said
    assert "78.8" in said
    assert as_csv(found, Row).splitlines()[1].startswith("lab,A full,RACK,dbb-shared,0,False,180.0,")
    save(figure.draw([shared, rps, hashed]), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_verdicts_of_the_lab_are_the_judges() -> None:
    """Goodputs are set against the paper's on its own links, 200 times as fast as these."""
    study = dbb.DbbLab().prepare(select(["dbb/lab"])[0], False, Path("runs"))
    found = [replace(row(LAB, "dbb-shared", 180.0, draw), recovery=DUPLICATES.name) for draw in range(3)]
    found += [replace(row(LAB, "rps", 150.0, draw), recovery=DUPLICATES.name) for draw in range(3)]
    cells = dbb.cells(found, 50_000_000, study.settings)
    lines = [judge("dbb/lab", claim, CellEvidence(cells)) for claim in study.expected.claims]
    told = {(line.id, line.what.split(",")[0].removeprefix("goodput of ")): line for line in lines if line.id == "2.2"}
    assert told["2.2", "DBB"].kind == NOT_RUN  # independent counters, the last of the two
    assert told["2.2", "RPS"].kind == DIFFERS
    assert told["2.2", "RPS"].value == pytest.approx(30.0)
    shared = next(line for line in lines if line.id == "2.2" and "shared" in line.what)
    assert (shared.kind, shared.seeds) == (AGREES, 3)
    assert all(line.kind == NOT_RUN for line in lines if line.id != "2.2")
