"""Blueprint of a lab of a scenario: needs no privilege."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from anabranch import AnabranchError, _core
from anabranch.lab.fabric.blueprint import Blueprint, draw
from anabranch.lab.fabric.shaping import lines
from support.command import anabranch


def blueprint(fabric: str, scale: float = 1.0) -> Blueprint:
    topology: dict[str, Any] = _core.Fabric(f"[fabric]\n{fabric}\n", "fabric.toml").topology()
    return draw("trial", topology, scale)


@pytest.mark.parametrize(
    "fabric",
    [
        'kind = "leaf-spine"\nleaves = 300\nspines = 4\nhosts_per_leaf = 2\nparallel_links = 2',
        'kind = "fat-tree"\nk = 6',
        'kind = "vl2"\naggregations = 12\nintermediates = 11',
        'kind = "dumbbell"',
    ],
)
def test_names_addresses_and_links(fabric: str) -> None:
    found = blueprint(fabric)
    inner = [
        end.device for cable in found.cables for end in (cable.a, cable.b) if end.node not in found.hosts
    ] + found.switches
    assert len(set(inner)) == len(inner)
    assert all(0 < len(device) <= 15 for device in inner)
    hosts = found.hosts.values()
    for values in ([host.address for host in hosts], [host.mac for host in hosts], found.namespaces):
        assert len(set(values)) == len(list(values))
    for host in hosts:
        prefix = found.prefix(host.leaf)
        assert prefix is not None
        assert ip_address(host.address) in ip_network(prefix)
    prefixes = {found.prefix(host.leaf) for host in hosts}
    assert len(prefixes) == len({host.leaf for host in hosts})


def test_addresses_follow_leaf_and_host() -> None:
    found = blueprint('kind = "leaf-spine"\nleaves = 260\nspines = 1\nhosts_per_leaf = 2')
    assert found.hosts["host0"].address == "10.1.0.1"
    assert found.hosts["host3"].address == "10.1.1.2"
    assert found.hosts["host512"].address == "10.2.0.1"
    assert found.prefix("leaf256") == "10.2.0.0/24"
    assert found.prefix("spine0") is None


def test_parallel_links_and_long_names_have_devices_of_their_own() -> None:
    found = blueprint(
        'kind = "graph"\nedge = [{ from = "h0", to = "switch-number-a" }, { from = "h1", to = "switch-number-b" },'
        ' { from = "switch-number-a", to = "switch-number-b" }, { from = "switch-number-a", to = "switch-number-b" }]'
    )
    devices = [cable.a.device for cable in found.cables[2:]]
    assert len(set(devices)) == 2
    assert [cable.parallel for cable in found.cables] == [0, 0, 0, 1]


def test_rates_are_scaled_and_each_direction_has_its_own() -> None:
    edges = '[{ from = "s", to = "h0", rate = "1 Gbps", back = { rate = "2 Gbps" } }, { from = "h1", to = "s" }]'
    found = blueprint(f'kind = "graph"\nedge = {edges}', 0.01)
    (cable,) = (cable for cable in found.cables if cable.a.node == "h0")
    assert (cable.a.rate_bps, cable.b.rate_bps) == (20_000_000, 10_000_000)
    assert cable.a.buffer_bytes is None
    assert cable.b.buffer_bytes == 300_000


def test_an_unlimited_queue_has_a_limit_that_tc_takes() -> None:
    assert "limit 1073741824" in list(lines("eth0", 1_000_000, None))[-1]


STAR = 'kind = "graph"\nedge = [{{ from = "{0}", to = "{1}" }}, {{ from = "h1", to = "{1}" }}]'


@pytest.mark.parametrize(
    ("fabric", "said"),
    [
        (STAR.format("h0", "switch-of-too-many-letters"), "at most 15"),
        (STAR.format("h 0", "s"), "no name for a device"),
        ('kind = "leaf-spine"\nhosts_per_leaf = 300', "more than 254 hosts"),
    ],
)
def test_what_linux_has_no_room_for_is_refused(fabric: str, said: str) -> None:
    with pytest.raises(AnabranchError, match=said):
        blueprint(fabric)


@pytest.mark.parametrize("name", ["", "../x", "A", "a.b", "a" * 41])
def test_names_that_are_no_folders_are_refused(name: str) -> None:
    with pytest.raises(AnabranchError, match="not the name of a lab"):
        draw(name, _core.Fabric('[fabric]\nkind = "dumbbell"', "f").topology())
    run = anabranch("lab", "down", name)
    assert run.returncode == 2
    assert "not the name of a lab" in run.stderr


def test_wrong_commands_say_what_to_do() -> None:
    for arguments, said in (
        (["down"], "lab list"),
        (["up", "none.toml"], "none.toml"),
        (["up", "none.toml", "--bfd", "fast"], "10ms"),
        (["reproduce"], "no paper"),
        (["reproduce", "none"], "no such paper"),
    ):
        run = anabranch("lab", *arguments)
        assert run.returncode == 2, run
        assert said in run.stderr
