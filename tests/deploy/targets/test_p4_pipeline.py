"""Entries for P4 switches, run by DPDK's SWX pipeline and compared with the simulator packet by packet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import Popen

import pytest

from anabranch.deploy.targets.p4.files import write
from support import swx_pipelines
from support.two_stages import FIG_2, FIG_5, MIXED, PACKETS, THIRD, Rates, frame, simulated, with_addresses


@pytest.fixture(autouse=True, scope="module")
def libraries() -> None:
    """Skips where DPDK is not installed."""
    if absent := swx_pipelines.missing():
        names = " ".join(f"lib{name}" for name in absent)
        pytest.skip(f"{names}: missing: apt install librte-pipeline23 librte-mempool-ring23 (Debian 12)")


def written(folder: Path, rates: Rates, more: str = "") -> Path:
    """The folder of the fabric's switches."""
    (folder / "fabric.toml").write_text(with_addresses(rates, more))
    write(folder / "fabric.toml", folder / "switches")
    return folder / "switches"


def took(folder: Path, asked: Popen[str], packets: Sequence[tuple[str, str]]) -> Iterator[list[str]]:
    """The path of each packet from leaf to leaf, switch by switch; it ends where the packet is dropped."""
    assert asked.stdin is not None
    assert asked.stdout is not None
    switches = json.loads((folder / "switches.json").read_text())["switches"]
    ports = {one["name"]: one["ports"] for one in switches}
    for number, (source, destination) in enumerate(packets):
        at, before, path = source, f"h{source[1:]}", []
        sent = frame(source, destination, number)
        while at in ports:
            path.append(at)
            asked.stdin.write(f"{at} {ports[at][before]} {sent.hex()}\n")
            asked.stdin.flush()
            left = asked.stdout.readline().split()
            if not left:
                break
            port, arrived = left
            assert bytes.fromhex(arrived) == sent, "frames leave as they came"
            before, (at,) = at, [name for name, own in ports[at].items() if own == int(port)]
        yield path


@pytest.mark.parametrize("rates", [FIG_2, FIG_5], ids=["Fig. 2", "Fig. 5"])
def test_two_stages_take_the_packets_as_the_simulator_does(rates: Rates, tmp_path: Path) -> None:
    expected = list(simulated(rates))
    assert len({*map(tuple, expected)}) == 4, "all paths are used"
    folder = written(tmp_path, rates)
    with swx_pipelines.pipelines(folder) as asked:
        assert list(took(folder, asked, [("S1", "S6")] * PACKETS)) == expected
        # The way back has lists and counters of its own.
        assert {path[-1] for path in took(folder, asked, [("S6", "S1")] * 2)} == {"S1"}
    # The order is the list's: with two turns of it exchanged, and the same shares, the comparison fails.
    list_of_s1 = folder / "S1" / "turns.swx"
    lines = list_of_s1.read_text().splitlines()
    keys, ports = zip(*(line.split(" action ") for line in lines), strict=True)
    swapped = [ports[1], ports[0], *ports[2:]]
    list_of_s1.write_text("".join(f"{key} action {port}\n" for key, port in zip(keys, swapped, strict=True)))
    with swx_pipelines.pipelines(folder) as asked:
        assert list(took(folder, asked, [("S1", "S6")] * PACKETS)) != expected


def test_leaves_that_share_switches_keep_their_own_counters(tmp_path: Path) -> None:
    """What a datapath in the kernel cannot tell apart: two leaves send through the same switches to a third."""
    expected = list(simulated(FIG_5, MIXED, THIRD))
    assert len({*map(tuple, expected)}) > 5
    folder = written(tmp_path, FIG_5, THIRD)
    with swx_pipelines.pipelines(folder) as asked:
        assert list(took(folder, asked, [(sender, "S6") for sender in MIXED])) == expected


def test_a_counter_of_a_longer_list_begins_again(tmp_path: Path) -> None:
    folder = written(tmp_path, FIG_5)
    expected = list(simulated(FIG_5, ("S1",) * 3))
    with swx_pipelines.pipelines(folder) as asked:
        assert asked.stdin is not None
        list(took(folder, asked, [("S1", "S6")] * 7))
        for switch in ("S1", "S2", "S3"):
            asked.stdin.write(f"{switch} counter 1 4711\n")
        assert list(took(folder, asked, [("S1", "S6")] * 3)) == expected


def test_what_no_entry_names_is_dropped(tmp_path: Path) -> None:
    folder = written(tmp_path, FIG_2)
    with swx_pipelines.pipelines(folder) as asked:
        assert asked.stdin is not None
        assert asked.stdout is not None
        for packet in (frame("S9", "S6", 0), frame("S1", "S9", 0), frame("S1", "S6", 0, ether_type=0x0806)):
            asked.stdin.write(f"S1 1 {packet.hex()}\n")
            asked.stdin.flush()
            assert asked.stdout.readline() == "\n"
        # They took no turn.
        expected = list(simulated(FIG_2, ("S1",) * 2))
        assert list(took(folder, asked, [("S1", "S6")] * 2)) == expected


def test_dpdk_refuses_a_specification_that_is_wrong(tmp_path: Path) -> None:
    folder = written(tmp_path, FIG_2)
    spec = folder / "turns.spec"
    spec.write_text(spec.read_text().replace("regarray counters size", "regarray counters of"))
    with pytest.raises(AssertionError, match=r"turns\.spec:\d+"), swx_pipelines.pipelines(folder):
        pass
