"""`anabranch ports`: the ports that it chooses, against runs and against all sets of paths."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest

import anabranch as ab
from anabranch import AnabranchError
from anabranch.simulate.runs.load import load
from anabranch.simulate.source_ports import ChosenPorts, choose_ports, disjoint_paths
from support.command import anabranch
from support.pcapng import frames

EXAMPLE = Path(__file__).parents[3] / "examples" / "queue-pairs.toml"
BASE = {
    "fabric": {"kind": "leaf-spine", "leaves": 2, "spines": 8, "hosts_per_leaf": 2},
    "routing": {"hash": [{"algorithm": "crc32"}]},
    "transport": {"kind": "roce", "queue_pairs": 8, "persistent": True},
    "traffic": [{"sizes": "800 KB", "kind": "once", "pattern": "permutation"}],
}


def test_the_example_has_the_ports_that_are_chosen_for_it() -> None:
    done = anabranch("ports", str(EXAMPLE), "host0", "host127", "--json", "-")
    chosen = json.loads(done.stdout)
    assert f"source_ports = {chosen['source_ports']}\n" in EXAMPLE.read_text()
    assert [port["queue_pair"] for port in chosen["ports"]] == [0, 1, 2, 3]


def _links(chosen: ChosenPorts) -> dict[int, list[str]]:
    return {port.source_port: [f"{a}>{b}" for a, b in itertools.pairwise(port.path)] for port in chosen.ports}


def test_queue_pairs_take_the_paths_that_were_chosen_for_them(tmp_path: Path) -> None:
    chosen = choose_ports(load(EXAMPLE), "host0", "host127", 4)
    links = _links(chosen)
    every = sorted(itertools.chain(*links.values()))
    assert len(set(every)) == len(every) == 16
    run = ab.run(EXAMPLE, {"record.captures": every}, runs=tmp_path, progress=False)
    for source_port, path in links.items():
        for link in path:
            seen = {int.from_bytes(frame[34:36], "big") for frame in frames(_capture(run, link))}
            assert seen == {source_port}, link


def _capture(run: ab.Run, link: str) -> Path:
    return run.folder / f"{link.replace('>', '-')}.pcapng"


@pytest.mark.parametrize("balance", ["ecmp", "wcmp", "weighted", "weighted-random", "valo"])
@pytest.mark.parametrize("fields", [["src_port"], ["dst_qp", "src_ip", "src_port"]])
def test_as_many_paths_as_asked_are_used_in_a_run(tmp_path: Path, balance: str, fields: list[str]) -> None:
    overrides = {"routing.balance": balance, "routing.hash.0.fields": fields}
    chosen = choose_ports(load(BASE, overrides), "host0", "host2", 8)
    (tmp_path / "one.csv").write_text("id,src,dst,size_bytes,start_ns\n0,0,2,800000,0\n")
    scenario = {
        **BASE,
        "routing": {"balance": balance, "hash": [{"algorithm": "crc32", "fields": fields}]},
        "transport": {**BASE["transport"], "source_ports": [port.source_port for port in chosen.ports]},  # type: ignore[dict-item]
        "traffic": [{"kind": "flow-list", "file": str(tmp_path / "one.csv")}],
        "record": {"captures": [f"leaf0>spine{spine}" for spine in range(8)]},
    }
    run = ab.run(scenario, runs=tmp_path, progress=False)
    for port in chosen.ports:
        seen = {int.from_bytes(frame[34:36], "big") for frame in frames(run.folder / f"leaf0-{port.path[1]}.pcapng")}
        assert seen == {port.source_port}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"routing.hash.0.fields": ["src_ip", "dst_ip"]}, "lead to 1 path from .* of at most 8 .* another offset"),
        (
            {"change": [{"link": "leaf1-spine3", "set": "down", "at": "0 s"}]},
            "lead to 7 paths .* of at most 7 .* as many",
        ),
        ({"routing.hash": []}, "switches hash ideally"),
        ({"routing.hash.0.at": "spine"}, "leaf0 chooses on the way and hashes ideally"),
        ({"transport": {"kind": "dctcp"}}, "no traffic has queue pairs"),
    ],
)
def test_too_few_paths_are_told(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(AnabranchError, match=message):
        choose_ports(load(BASE, overrides), "host0", "host2", 8)


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (("host0", "host1"), "no switch has a choice"),
        (("host0", "leaf1"), "leaf1 is no host; "),
        (("host0",) * 2, "no s"),
    ],
)
def test_hosts_without_a_choice_between_them_are_refused(hosts: tuple[str, str], message: str) -> None:
    with pytest.raises(AnabranchError, match=message):
        choose_ports(load(BASE), *hosts, 2)


def test_no_more_paths_are_disjoint_than_are_found() -> None:
    chance = random.Random(3)
    for _ in range(300):
        queue_pairs, links = chance.randint(1, 4), chance.randint(2, 4)
        every = [tuple(10 * step + chance.randrange(links) for step in range(3)) for _ in range(chance.randint(1, 7))]
        alike = chance.random() < 0.5
        shared = sorted(set(every))
        options = [
            shared if alike else sorted({path for path in every if chance.random() < 0.7}) for _ in range(queue_pairs)
        ]
        most = max(
            count
            for count in range(queue_pairs + 1)
            if any(
                len({link for path in paths for link in path}) == 3 * count
                for paths in itertools.product(*options[:count])
            )
        )
        found, is_most = disjoint_paths(options)
        assert is_most
        assert len(found) == most
        assert len({link for path in found for link in path}) == 3 * most
        assert all(path in paths for path, paths in zip(found, options, strict=False))
