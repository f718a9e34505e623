"""Target `frr` with real routers: two leaves and three spines, each with zebra and bgpd in a namespace of its own."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.frr.bandwidth import predicted
from anabranch.files.toml_document import parse_toml
from support.command import Run, anabranch
from support.frr_routers import Router, each, routers
from support.verdict import as_planned
from support.waiting import wait

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "bgp.toml"
PAGE = ROOT / "docs" / "deploy-frr.md"
TO_LEAF1 = ("10.1.1.0/24", "fd00:2::/64")
FLOWS = 3000
LINKS = [(leaf, f"spine{number}") for leaf in ("leaf0", "leaf1") for number in range(3)]
PREFIXES = {"leaf0": ["10.1.0.0/24", "fd00:1::/64"], "leaf1": list(TO_LEAF1)}


@dataclass(frozen=True)
class World:
    """Routers that run what was planned for the example."""

    routers: dict[str, Router]
    folder: Path
    """Written by `anabranch plan`."""

    @property
    def leaf0(self) -> Router:
        """The leaf that is looked at."""
        return self.routers["leaf0"]

    @property
    def split(self) -> dict[str, int]:
        """Weights of leaf0 towards leaf1, as they are planned."""
        return split_of(self.folder)

    def bandwidths(self, *values: int) -> None:
        """Has each spine announce another bandwidth to leaf0."""
        for number, mbps in enumerate(values):
            entries = [f"route-map to-leaf0 permit {sequence}" for sequence in (10, 20)]
            for entry in entries:
                commands = ("configure terminal", entry, f"set extcommunity bandwidth {mbps}")
                self.routers[f"spine{number}"].vtysh(*commands)

    def restore(self) -> None:
        """Has all routers announce again what was planned."""
        each(self.routers, lambda router: router.configure(self.folder / router.name / "frr.conf"))
        self.whole()

    def whole(self) -> None:
        """Waits until leaf0 splits as planned."""
        for prefix in TO_LEAF1:
            self.leaf0.wait_for(prefix, self.split)

    def compare(self, verb: str, *arguments: str, router: str = "leaf0") -> Run:
        """Runs `diff` or `verify` for a router with its plan."""
        return self.routers[router].compare(verb, self.folder / router / "plan.toml", *arguments)


def split_of(folder: Path) -> dict[str, int]:
    """Weights of leaf0 towards leaf1, by what `plan` has written."""
    record = json.loads((folder / "routers.json").read_text())
    (group,) = (one for router in record["routers"] if router["name"] == "leaf0" for one in router["groups"])
    return dict(zip(group["ports"], group["installed"], strict=True))


def planned(file: Path, folder: Path) -> None:
    done = anabranch("plan", "--target", "frr", str(file), "--folder", str(folder))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("frr") / "routers"
    planned(EXAMPLE, folder)
    with routers(LINKS, PREFIXES) as by_name:
        one = World(by_name, folder)
        one.restore()
        yield one


def test_the_kernel_splits_as_the_plan_says_before(world: World) -> None:
    assert world.split == {"spine0": 47, "spine1": 33, "spine2": 19}
    for prefix in PREFIXES["leaf0"]:
        world.routers["leaf1"].wait_for(prefix, world.split)
    for name in ("leaf0", "leaf1", "spine1"):
        same = world.compare("diff", router=name)
        assert (same.returncode, "no difference in 2 destinations" in same.stdout) == (0, name != "spine1"), same
    verified = as_planned(lambda _: world.compare("verify", "--seconds", "0.01", "--json", "-"))
    document = json.loads(verified.stdout)
    assert (verified.returncode, document["verdict"], document["lines"]) == (0, "as planned", [])
    assert [one["name"] for one in document["groups"]] == ["leaf1 (IPv4)", "leaf1 (IPv6)"]
    assert all(one["total"] >= 20_000 for one in document["groups"])
    assert "too few to count" in document["warnings"][0]


def test_the_page_does_what_it_says(world: World, tmp_path: Path) -> None:
    """Its commands on leaf0, whose sockets are then where FRR has them by itself."""
    (tmp_path / "examples").symlink_to(EXAMPLE.parent)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert {language for language, _ in blocks} == {"sh", "text"}
    scripts = [text for language, text in blocks if language == "sh"]

    # Each by itself: the one with `verify` may have to run again.
    def runs(script: str) -> str:
        return as_planned(lambda _: world.leaf0.shell(script, tmp_path)).stdout

    printed = " ".join("".join(map(runs, scripts)).split())
    for line in "".join(text for language, text in blocks if language == "text").splitlines():
        assert " ".join(line.split()) in printed


def test_packets_are_counted(world: World) -> None:
    def verify(trial: int) -> Run:
        """Of connections of this trial's own, sent meanwhile."""
        first, ended = 1000 + FLOWS * trial, Event()

        def send() -> None:
            with inside(world.leaf0.namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                while not ended.is_set():
                    for port in range(first, first + FLOWS):
                        sender.sendto(b"", ("10.1.1.1", port))

        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(send)
            try:
                return world.compare("verify", "--seconds", "1", "--connections", str(FLOWS), "--json", "-")
            finally:
                ended.set()
                sending.result()

    document = json.loads(as_planned(verify).stdout)
    (counted,) = (one for one in document["groups"] if one["counted"] == "packets")
    assert (counted["verdict"], counted["total"] > FLOWS) == ("as planned", True), json.dumps(counted)


@pytest.mark.parametrize(
    "mbps",
    [
        pytest.param((25600, 1, 1), id="less than one percent"),
        pytest.param((100, 100, 200), id="exactly whole percents"),
        pytest.param((600, 400, 19000), id="3, 2 and 95 percent but for the float"),
    ],
)
def test_changed_weights_are_installed_as_the_rounding_says(world: World, mbps: tuple[int, ...]) -> None:
    world.bandwidths(*mbps)
    split = dict(zip(world.split, predicted(mbps), strict=True))
    for prefix in TO_LEAF1:
        world.leaf0.wait_for(prefix, split)
    found = world.compare("diff")
    assert found.returncode == 1
    # What the neighbours announce is wrong; zebra and the kernel make of it what they should.
    assert {line.split()[1] for line in found.stdout.splitlines() if line.startswith("~")} == {"bgpd"}
    assert f"spine0 {mbps[0]} Mbit/s" in found.stdout


def test_weights_that_leaf0_heeds_no_more_are_lost_by_zebra(world: World) -> None:
    world.restore()
    system = re.search(r"router bgp (\d+)", (world.folder / "leaf0" / "frr.conf").read_text())
    assert system is not None
    router = ("configure terminal", f"router bgp {system[1]}")
    world.leaf0.vtysh(*router, "bgp bestpath bandwidth ignore")
    for prefix in TO_LEAF1:
        world.leaf0.wait_for(prefix, dict.fromkeys(world.split, 1))
    found = world.compare("diff")
    assert "~- zebra 10.1.1.0/24: spine0 1, spine1 1, spine2 1\n" in found.stdout
    assert "~+ zebra 10.1.1.0/24: spine0 47, spine1 33, spine2 19\n" in found.stdout
    assert "4 differences" not in found.stdout
    assert (found.returncode, "2 differences in 2 destinations" in found.stdout) == (1, True)
    world.leaf0.vtysh(*router, "no bgp bestpath bandwidth ignore")
    world.whole()


def test_a_plan_of_ours_over_a_route_of_bgp_is_named_before_and_after(world: World, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[[group]]\nname = "shadow"\nmatch = { ip_dst = ["10.1.1.0/24"] }\n'
        'ports = ["spine0", "spine1"]\nweights = [1, 1]\nrecipe = "mpath"\n'
    )
    note = "10.1.1.0/24: comes before the route of bgp with metric 20"
    try:
        for verb in ("diff", "apply", "diff"):
            said = world.leaf0.anabranch(verb, str(plan), "--target", "linux")
            assert note in said.stdout, said
        found = world.compare("diff")
        assert "~- kernel 10.1.1.0/24: a route of protocol 171: spine0 1, spine1 1\n" in found.stdout
        assert (found.returncode, "1 difference in" in found.stdout) == (1, True)
        plan.write_text(plan.read_text() + "metric = 30\n")
        after = world.leaf0.anabranch("diff", str(plan), "--target", "linux")
        assert "the route of bgp with metric 20 comes before metric 30; give the plan a lower metric" in after.stdout
    finally:
        world.leaf0.anabranch("remove", str(plan), "--target", "linux")
    assert world.compare("diff").returncode == 0


def _asked(world: World, plan: str, _: int) -> Run:
    """What `verify` says of a plan for Linux on leaf0."""
    return world.leaf0.anabranch("verify", plan, "--target", "linux")


def test_routes_of_bgp_become_a_plan_with_their_weights(world: World, tmp_path: Path) -> None:
    for version, word in enumerate(("ip", "ipv6")):
        routes = tmp_path / f"{word}.json"
        routes.write_text(world.leaf0.vtysh(f"show {word} route json"))
        brought = anabranch("import", str(routes), "--into", str(tmp_path / word))
        assert brought.returncode == 0, brought.stderr
        plan = tmp_path / word / "plan.toml"
        (group,) = parse_toml(plan.read_text(), str(plan))["group"]
        assert group["match"] == {"ip_dst": [TO_LEAF1[version]]}
        assert dict(zip(group["ports"], group["weights"], strict=True)) == world.split
        plan.write_text(plan.read_text() + "metric = 10\n")
        applied = world.leaf0.anabranch("apply", str(plan), "--target", "linux")
        try:
            assert applied.returncode == 0, applied.stderr
            verified = as_planned(partial(_asked, world, str(plan)))
            assert "as planned" in verified.stdout
            assert world.leaf0.split(TO_LEAF1[version]) == world.split
        finally:
            assert world.leaf0.anabranch("remove", str(plan), "--target", "linux").returncode == 0


def test_a_link_that_goes_down_and_up_leaves_the_split_as_it_was(world: World) -> None:
    world.leaf0.ip("link", "set", "spine2", "down")
    split = dict(zip(("spine0", "spine1"), predicted([10000, 7000]), strict=True))
    for prefix in TO_LEAF1:
        world.leaf0.wait_for(prefix, split)
    wait(lambda: world.compare("diff").returncode == 0, lambda: world.compare("diff").stdout)
    assert "without a carrier: spine2" in world.compare("diff").stdout
    world.leaf0.ip("link", "set", "spine2", "up")
    world.whole()


def test_a_bgpd_that_is_killed_leaves_the_others_their_ratio(world: World) -> None:
    world.routers["spine1"].kill("bgpd")
    split = dict(zip(("spine0", "spine2"), predicted([10000, 4000]), strict=True))
    for prefix in TO_LEAF1:
        world.leaf0.wait_for(prefix, split)
    found = world.compare("diff")
    assert "~- bgpd 10.1.1.0/24: spine0 10000 Mbit/s, spine2 4000 Mbit/s\n" in found.stdout
    assert found.returncode == 1
    world.routers["spine1"].start("bgpd")
    world.routers["spine1"].configure(world.folder / "spine1" / "frr.conf")
    world.whole()
    # The end of this world: leaf0 has no bgpd any more.
    world.leaf0.kill("bgpd")
    wait(lambda: "- bgpd: it is not running" in world.compare("diff").stdout, lambda: "bgpd runs")
