"""Chakra traces and matrices of htsim from their files to the tables: groups, speeds, units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anabranch as ab
from anabranch.files.errors import AnabranchError
from support.command import anabranch

FABRIC: dict[str, Any] = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}
COMPUTE, COLLECTIVE = 4, 7
ALL_REDUCE, REDUCE, BARRIER = 0, 1, 9


def varint(value: int) -> bytes:
    """The number as Protocol Buffers write it."""
    low = bytes([value & 127 | (128 if value > 127 else 0)])
    return low + varint(value >> 7) if value > 127 else low


def counted(field: int, content: bytes) -> bytes:
    """A field of text, bytes or a message."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name: str, value: int | str | list[bool]) -> bytes:
    """An attribute of a node: `int64_val`, `string_val` or `bool_list`."""
    match value:
        case str():
            content = counted(29, value.encode())
        case list():
            content = counted(28, counted(1, bytes(value)))
        case _:
            content = varint(9 << 3) + varint(value)
    return counted(10, counted(1, name.encode()) + content)


def node(identity: int, kind: int, us: int = 0, after: list[int] | None = None, **attributes: Any) -> bytes:
    """A node of `et_def.proto`."""
    message = varint(1 << 3) + varint(identity) + counted(2, b"node") + varint(3 << 3) + varint(kind)
    message += counted(5, b"".join(map(varint, after or []))) + varint(7 << 3) + varint(us)
    return message + b"".join(attribute(name, value) for name, value in attributes.items())


def write_traces(folder: Path, *ranks: list[bytes]) -> dict[str, Any]:
    """Writes a trace of each rank; returns the traffic that runs them."""
    for rank, nodes in enumerate(ranks):
        messages = [counted(1, b"0.0.4"), *nodes]
        content = b"".join(varint(len(message)) + message for message in messages)
        (folder / f"step.{rank}.et").write_bytes(content)
    return {"kind": "graph", "file": str(folder / "step.0.et")}


def request(comm_type: int = ALL_REDUCE, **attributes: Any) -> bytes:
    """A request for a collective of 400 kB."""
    return node(0, COLLECTIVE, comm_type=comm_type, comm_size=400_000, **attributes)


def run_of(traffic: dict[str, Any], folder: Path) -> ab.Run:
    """The run of one job."""
    return ab.run({"name": "traces", "fabric": FABRIC, "traffic": [traffic]}, runs=folder / "runs")


def exchanges(run: ab.Run) -> set[tuple[int, int]]:
    """Pairs of hosts of the flows."""
    return set(run.flows.select("src", "dst").iter_rows())


def ring(*hosts: int) -> set[tuple[int, int]]:
    """Neighbours on a ring of hosts."""
    return set(zip(hosts, (*hosts[1:], hosts[0]), strict=True))


def test_groups_run_as_rings_of_their_own(tmp_path: Path) -> None:
    """Two groups of four: five rounds of 100 KB at 10 Gbit/s, at least 80 us each, before the sixth."""
    traffic = write_traces(tmp_path, *([request(pg_name=str(rank // 4))] for rank in range(8)))
    unlisted = run_of(traffic, tmp_path)
    (tmp_path / "comm_group.json").write_text('{"0": [0, 1, 2, 3], "1": [4, 5, 6, 7]}')
    (tmp_path / "other.json").write_text('{"0": [0, 2, 1, 3], "1": [4, 5, 6, 7]}')
    beside = run_of(traffic, tmp_path)
    named = run_of({**traffic, "groups": str(tmp_path / "other.json")}, tmp_path)
    two = ring(0, 1, 2, 3) | ring(4, 5, 6, 7)
    assert [exchanges(run) for run in (unlisted, beside, named)] == [two, two, ring(0, 2, 1, 3) | ring(4, 5, 6, 7)]
    for run in (unlisted, beside, named):
        assert run.flows.height == 48
        assert 5 * 80_000 < max(run.flows["start_ns"]) < 5 * 110_000
        assert run.steps.filter(pl.col("kind") == "all-reduce").height == 2
    # Another list of groups is another run.
    assert len(list((tmp_path / "runs").iterdir())) == 3


def test_dimensions_divide_the_ranks(tmp_path: Path) -> None:
    traffic = write_traces(tmp_path, *([request(involved_dim=[False, True])] for _ in range(8)))
    run = run_of({**traffic, "dimensions": [4, 2]}, tmp_path)
    assert exchanges(run) == {pair for low in range(4) for pair in ring(low, low + 4)}
    with pytest.raises(AnabranchError, match="`involved_dim` leaves out a dimension"):
        run_of(traffic, tmp_path)


def test_operations_take_the_time_of_the_accelerator(tmp_path: Path) -> None:
    """312 * 10^9 operations at 312 TFLOPS: 1 ms, before a barrier of two."""
    compute = node(1, COMPUTE, num_ops=312 * 10**9, tensor_size=10**9)
    barrier = node(2, COLLECTIVE, after=[1], comm_type=BARRIER)
    traffic = write_traces(tmp_path, [compute, barrier], [compute, barrier])
    speed = {"flops": "312 TFLOPS", "memory_bandwidth": "2 TB/s"}
    run = run_of({**traffic, "accelerator": speed}, tmp_path)
    assert set(run.flows["start_ns"]) == {1_000_000}
    assert run.steps.filter(pl.col("kind") == "barrier").height == 1
    slow = run_of({**traffic, "accelerator": {**speed, "memory_bandwidth": "500 GB/s"}}, tmp_path)
    assert set(slow.flows["start_ns"]) == {2_000_000}
    with pytest.raises(AnabranchError, match=r"no duration \(`duration_micros`\), as do 1 of 2 nodes"):
        run_of(traffic, tmp_path)


def test_streams_of_a_rank_overlap(tmp_path: Path) -> None:
    """The device's 1000 us and the host's run beside each other; a reduce follows."""
    nodes = [
        node(1, COMPUTE, 1000, is_cpu_op=0),
        node(2, COMPUTE, 1000, is_cpu_op=1),
        node(3, COLLECTIVE, after=[1, 2], comm_type=REDUCE, comm_size=1000, root=0),
    ]
    run = run_of(write_traces(tmp_path, nodes, nodes), tmp_path)
    assert run.flows.select("src", "dst", "start_ns").rows() == [(1, 0, 1_000_000)]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"ranks": 8}, "ranks: the file has 7"),
        ({"groups": "none.json"}, "groups: `none.json` cannot be read"),
        ({"dimensions": [4, 2]}, "7 ranks, and dimensions of"),
        ({"accelerator": {"flops": "312 TFLOPS"}}, "memory_bandwidth"),
        ({"accelerator": {"flops": "312", "memory_bandwidth": "2 TB/s"}}, "`312` has no unit"),
        ({"accelerator": {"flops": "0 FLOPS", "memory_bandwidth": "2 TB/s"}}, "out of range"),
        ({"start_unit": "ps"}, "start_unit: this is no connection matrix"),
    ],
)
def test_what_does_not_fit_a_trace_is_refused(keys: dict[str, Any], problem: str, tmp_path: Path) -> None:
    traffic = write_traces(tmp_path, *([request()] for _ in range(7)))
    with pytest.raises(AnabranchError, match=problem):
        run_of({**traffic, **keys}, tmp_path)


def test_keys_of_traces_belong_to_traces() -> None:
    for key, value in (("groups", "g.json"), ("dimensions", [2, 2]), ("accelerator", {"flops": "1 FLOPS"})):
        with pytest.raises(AnabranchError, match=r"this is no Chakra trace|memory_bandwidth"):
            ab.run({"fabric": FABRIC, "traffic": [{"kind": "graph", key: value}]})


def test_the_verb_takes_what_traces_leave_out(tmp_path: Path) -> None:
    nodes = [node(1, COMPUTE, num_ops=312 * 10**9), request(involved_dim=[True, False], pg_name="7")]
    write_traces(tmp_path, *([*nodes] for _ in range(4)))
    (tmp_path / "g.json").write_text('{"7": [0, 1, 2, 3]}')
    file = str(tmp_path / "step.0.et")
    speeds = ("--accelerator", "312000000000000,2000000000000")
    shown = anabranch(
        "graph", file, "--groups", str(tmp_path / "g.json"), *speeds, "--loggops", "0,0,0,0,0,999999999", "--json", "-"
    )
    assert shown.returncode == 0, shown.stderr
    document = json.loads(shown.stdout)
    assert (document["graph"]["messages"], document["graph"]["warnings"]) == (24, [])
    assert document["end_ns"] == [1_000_000] * 4
    write_traces(tmp_path, *([request(involved_dim=[True, False])] for _ in range(4)))
    shown = anabranch("graph", file, "--dimensions", "2,2", "--json", "-")
    assert json.loads(shown.stdout)["graph"]["messages"] == 8
    for option, text in (("--dimensions", "2,x"), ("--accelerator", "312"), ("--dimensions", "0,4")):
        refused = anabranch("graph", file, option, text)
        assert refused.returncode == 2
        assert "give whole numbers from 1" in " ".join(refused.stderr.split()), refused.stderr


def test_starts_of_a_matrix_have_the_unit_that_is_given(tmp_path: Path) -> None:
    file = tmp_path / "m.cm"
    file.write_text("Nodes 4\nConnections 2\n0->1 start 1500000.0 size 1000\n2->3 start 0.000000 size 0\n")
    traffic = {"kind": "graph", "file": str(file), "size": "20 KB"}
    run = run_of({**traffic, "start_unit": "ps"}, tmp_path)
    assert run.flows.sort("src").select("src", "size_bytes", "start_ns").rows() == [(0, 1000, 1500), (2, 20_000, 0)]
