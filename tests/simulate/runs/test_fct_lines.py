"""Completion times in HPCC's columns."""

from __future__ import annotations

from pathlib import Path

from support.command import anabranch

SCENARIO = """\
[fabric]
kind = "ns3"
file = "topology.txt"
[transport]
kind = "roce"
[[traffic]]
kind = "flow-list"
file = "flows.csv"
[stop]
at = "1 ms"
"""
TOPOLOGY = "3 1 2\n0\n1 0 100Gbps 1000ns 0\n2 0 100Gbps 1000ns 0\n"


def test_lines_have_addresses_ports_and_times_of_finished_flows(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    (tmp_path / "flows.csv").write_text(
        "id,src,dst,size_bytes,start_ns\n0,host1,host2,20000,0\n1,host1,host2,1000,2000\n2,host2,host1,9000000000,5\n"
    )
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    run = anabranch("run", "scenario.toml", "--fct", "fct.txt", "-q", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    rows = [line.split() for line in (tmp_path / "fct.txt").read_text().splitlines()]
    # The third has not finished; node 1 has 11.0.1.1, node 2 has 11.0.2.1.
    assert [row[:6] for row in rows] == [
        ["0b000101", "0b000201", "10000", "100", "20000", "0"],
        ["0b000101", "0b000201", "10001", "101", "1000", "2000"],
    ]
    for row in rows:
        assert int(row[6]) >= int(row[7]) > 0


def test_an_address_has_the_number_of_its_node() -> None:
    from anabranch.simulate.runs.fct_lines import address

    assert address("host302", 7) == 0x0B012E01
    assert address("spare", 7) == 0x0B000701
