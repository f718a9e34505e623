"""Questions that every target answers, for each of the registry: a world per target, the same questions to all."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch import AnabranchError
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.file import parse
from anabranch.deploy.control.forwarding import Towards
from anabranch.deploy.control.network import Network
from anabranch.deploy.control.progress import Progress
from anabranch.deploy.control.session import Surroundings
from anabranch.deploy.control.switch_kind import SwitchKind, kinds
from anabranch.deploy.control.wiring import Wiring
from anabranch.deploy.targets import registry, verbs
from anabranch.deploy.targets.forecast import plan as forecast
from anabranch.deploy.targets.ovs.options import ExplainOptions
from anabranch.deploy.targets.ovs.options import Options as BridgeOptions
from anabranch.deploy.targets.plan.explanation import parse_tuples
from anabranch.deploy.targets.plan.group import group
from anabranch.deploy.targets.protocol import PARTS
from anabranch.deploy.targets.registry import TARGETS, plan_forms, target
from anabranch.deploy.targets.table.options import Options as FolderOptions
from anabranch.lab import switches
from anabranch.lab.fabric import switching
from support.command import anabranch
from support.dummy_switch import BRIDGE, dummy_switch, ofctl
from support.needs import marks_of
from support.own_datapaths import ip, pairs, with_own_datapaths
from support.own_namespace import in_own_namespace

GROUP = """
[[group]]
name = "leaf{leaf}"
match = {{ ip_dst = "10.{leaf}.0.0/16" }}
ports = ["p1", "p2", "p3"]
weights = {weights}
"""
FOLDERS = Path(registry.__file__).parent
LAB_SWITCHES = Path(switches.__file__).parent


@dataclass(frozen=True)
class World:
    """World in which a target is tried: it has ports p1, p2 and p3, and something of somebody else's."""

    name: str
    folder: Path
    options: Any
    flags: Sequence[str]
    """The same options on the command line."""
    state: Callable[[], object]
    """All that stands there, whoever's it is, by other means than the target's own."""
    head: str = ""
    """Beginning of its plans."""
    explain_options: Any = None
    tells_paths: bool = True
    """Whether the path of a connection is known before."""
    counts: bool = True
    """Whether what passes can be counted."""

    def plan(self, *groups: tuple[int, str]) -> Path:
        """Writes the plan file: the number and the weights of each group."""
        file = self.folder / "plan.toml"
        text = "".join(GROUP.format(leaf=leaf, weights=weights) for leaf, weights in groups)
        file.write_text(self.head + text)
        return file

    def apply(self, plan: Path, *, dry_run: bool = False) -> verbs.Outcome:
        """The verb, with the options of this world."""
        return verbs.apply(target(self.name), str(plan), self.options, dry_run=dry_run)

    def remove(self, plan: Path) -> verbs.Outcome:
        """The verb, with the options of this world."""
        return verbs.remove(target(self.name), str(plan), self.options, dry_run=False)


@contextlib.contextmanager
def bridge(folder: Path) -> Iterator[World]:
    with dummy_switch() as switch:
        ofctl(switch, "add-flow", "table=0,priority=5,cookie=0xabc,arp,actions=output:2")
        address = switch.openflow(BRIDGE)

        def state() -> object:
            return [sorted(ofctl(switch, f"dump-{what}").splitlines()[1:]) for what in ("flows", "groups")]

        options = BridgeOptions(openflow=address)
        explain_options = ExplainOptions(openflow=address)
        yield World("ovs", folder, options, ["--openflow", address], state, "owner = 1\nseed = 7\n", explain_options)


@contextlib.contextmanager
def routes(folder: Path) -> Iterator[World]:
    ip("link", "set", "lo", "up")
    pairs("p1", "p2", "p3")
    ip("nexthop", "add", "id", "7", "dev", "p1", "protocol", "static")
    ip("route", "add", "10.77.0.0/16", "nhid", "7")
    yield World("linux", folder, None, [], lambda: (ip("nexthop"), ip("route")), tells_paths=False)


@contextlib.contextmanager
def datapath(folder: Path) -> Iterator[World]:
    pairs("in", "p1", "p2", "p3")
    theirs, head = folder / "theirs.toml", 'seed = 7\n[switch]\ndev = ["in"]\n'
    others = head.replace("[switch]", '[switch]\nname = "theirs"').replace('"in"', '"pin"')
    theirs.write_text(others + GROUP.format(leaf=77, weights="[1, 1, 1]"))
    one, options = target("ebpf"), registry.option_class("ebpf", "reach")
    assert options is not None
    verbs.apply(one, str(theirs), options(), dry_run=False)

    def state() -> object:
        found = verbs.apply(one, str(theirs), options(), dry_run=True)
        pins = sorted(str(path) for path in Path("/sys/fs/bpf").rglob("*"))
        return found.changes, pins, ip("link").count("prog/")

    yield World("ebpf", folder, options(), [], state, head)


@contextlib.contextmanager
def files(folder: Path) -> Iterator[World]:
    tables = folder / "tables"
    tables.mkdir()
    (tables / "owner-9.json").write_text("{}\n")
    (tables / "notes.txt").write_text("theirs")

    def state() -> object:
        return {file.name: file.read_text() for file in sorted(tables.iterdir())}

    options = FolderOptions(str(tables))
    yield World("table", folder, options, ["--folder", str(tables)], state, "seed = 7\n", options, counts=False)


WORLDS: dict[str, tuple[Callable[[Path], contextlib.AbstractContextManager[World]], Callable[..., Any]]] = {
    "ovs": (bridge, lambda test: test),
    "linux": (routes, in_own_namespace),
    "ebpf": (datapath, with_own_datapaths),
    "table": (files, lambda test: test),
}


def in_world(name: str, folder: Path, test: Callable[[World], None]) -> None:
    make, own = WORLDS[name]

    def run() -> None:
        with make(folder) as world:
            test(world)

    own(run)()


every_target = pytest.mark.parametrize("name", TARGETS)
in_every_world = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks_of(make, own(make))) for name, (make, own) in WORLDS.items()]
)


@in_every_world
def test_a_plan_goes_in_changes_by_the_least_and_comes_out(name: str, tmp_path: Path) -> None:
    def check(world: World) -> None:
        before = world.state()
        plan = world.plan((2, "[4, 3, 2]"), (3, "[1, 1, 1]"))
        tried = world.apply(plan, dry_run=True)
        assert world.state() == before
        assert tried.changes > 0
        made = world.apply(plan)
        assert (made.lines, made.changes, made.summary) == (tried.lines, tried.changes, tried.summary)
        assert world.state() != before
        again = world.apply(plan)
        assert (again.lines, again.changes) == ([], 0)
        changed = world.apply(world.plan((2, "[2, 3, 4]"), (3, "[1, 1, 1]")))
        assert 0 < changed.changes < made.changes
        assert not any("10.3.0.0" in line for line in changed.lines)
        assert all(line[:2] in ("~-", "~+") for line in changed.lines), changed.lines
        assert world.apply(world.plan((2, "[4, 3, 2]"), (3, "[1, 1, 1]"))).changes == changed.changes
        gone = world.remove(plan)
        assert gone.changes > 0
        assert all(line.startswith("-") for line in gone.lines)
        assert world.state() == before
        assert world.remove(plan).changes == 0

    in_world(name, tmp_path, check)


@in_every_world
def test_bad_input_is_refused_and_changes_nothing(name: str, tmp_path: Path) -> None:
    def check(world: World) -> None:
        world.apply(world.plan((2, "[4, 3, 2]")))
        before = world.state()
        for weights in ("[4, 3]", "[0, 0, 0]", '["x", 1, 1]', "[-1, 1, 1]"):
            with pytest.raises(AnabranchError, match=r"plan\.toml: group leaf2\W"):
                world.apply(world.plan((2, weights)))
        with pytest.raises(AnabranchError, match="leaf2"):
            world.apply(world.plan((2, "[1, 1, 1]"), (2, "[1, 1, 1]")))
        plan = world.plan((2, "[4, 3, 2]"))
        plan.write_text(plan.read_text() + 'recipe = "no-such"\n')
        with pytest.raises(AnabranchError, match="leaf2"):
            world.apply(plan)
        assert world.state() == before

    in_world(name, tmp_path, check)


@in_every_world
def test_the_verbs_take_the_target_by_its_name(name: str, tmp_path: Path) -> None:
    def check(world: World) -> None:
        plan = world.plan((2, "[4, 3, 2]"))

        def status(verb: str, *options: str) -> int:
            return anabranch(verb, str(plan), "--target", name, *world.flags, *options).returncode

        assert [status("diff"), status("apply"), status("diff"), status("apply", "--dry-run")] == [1, 0, 0, 0]
        assert [status("remove"), status("diff")] == [0, 1]

    in_world(name, tmp_path, check)


@in_every_world
def test_the_verbs_write_documents_in_place_of_their_tables(name: str, tmp_path: Path) -> None:
    def check(world: World) -> None:
        plan = world.plan((2, "[4, 3, 2]"), (3, "[1, 1, 1]"))

        def document(verb: str, *options: str) -> tuple[int, dict[str, Any]]:
            run = anabranch(verb, str(plan), "--target", name, *world.flags, *options, "--json", "-")
            found: dict[str, Any] = json.loads(run.stdout)
            assert list(found)[:4] == ["command", "made_by", "target", "plan"]
            return run.returncode, found

        differing, to_make = document("diff")
        applied, made = document("apply")
        facts = ("changes", "lines", "summary", "warnings")
        assert (differing, applied) == (1, 0)
        assert [to_make[key] for key in facts] == [made[key] for key in facts]
        assert (to_make["dry_run"], made["dry_run"], made["target"]) == (True, False, name)
        assert made["changes"] > 0
        assert (again := document("diff"))[0] == again[1]["changes"] == 0
        if "verify" not in target(name).descriptor.lacks:
            status, verified = document("verify", "--seconds", "0.01")
            # Nothing passes here but what the kernel is asked (`linux`).
            assert (verified["verdict"], verified["lines"]) == ({0: "as planned", 3: "cannot tell"}[status], [])
            silent = anabranch("verify", str(plan), "--target", name, *world.flags, "--seconds", "0.01")
            assert (silent.returncode, verified["verdict"] in silent.stdout) == (status, True)
            rows = [row for group in verified["groups"] for row in group["paths"]]
            groups = 2 if world.counts else 0
            assert [(row["path"], row["port"]) for row in rows] == groups * [(1, "p1"), (2, "p2"), (3, "p3")]
            assert [row["asked"] for row in rows] == pytest.approx([4 / 9, 3 / 9, 2 / 9, *3 * [1 / 3]][: 3 * groups])
        assert document("remove")[1]["changes"] > 0
        if "verify" not in target(name).descriptor.lacks:
            status, verified = document("verify")
            assert (status, verified["verdict"], verified["groups"]) == (1, "wrong", [])
            assert verified["lines"] == to_make["lines"]

    in_world(name, tmp_path, check)


@in_every_world
def test_where_connections_go_is_told_before_and_agrees_with_the_split(name: str, tmp_path: Path) -> None:
    count = 2000
    texts = [f"10.9.0.1,10.2.0.9,tcp,{1024 + number},80" for number in range(count)]

    def check(world: World) -> None:
        one, plan = target(name), world.plan((2, "[4, 3, 2]"))
        tuples = parse_tuples(texts)
        predicted = one.explain(str(plan), world.explain_options, tuples)
        told = [each.last[1] for each in predicted]
        if not world.tells_paths:
            assert not any(each.known for each in predicted)
            assert all(text.startswith("not known ") for text in told)
            return
        world.apply(plan)
        assert [each.last[1] for each in one.explain(str(plan), world.explain_options, tuples)] == told
        (found,) = forecast(group("4,3,2"), [name]).targets
        shares = np.array(found.recommended(1.0).achieved)
        got = np.array([told.count(port) for port in ("p1", "p2", "p3")])
        assert got.sum() == count
        assert (abs(got - count * shares) <= 5 * np.sqrt(count * shares * (1 - shares))).all()

    in_world(name, tmp_path, check)


def test_a_table_has_the_path_that_is_told(tmp_path: Path) -> None:
    def check(world: World) -> None:
        plan = world.plan((2, "[4, 3, 2]"))
        world.apply(plan)
        held = json.loads((world.folder / "tables" / "owner-0.json").read_text())["leaf2"]
        texts = [f"10.9.0.1,10.2.0.9,tcp,{1024 + number},80" for number in range(500)]
        for each in target("table").explain(str(plan), world.explain_options, parse_tuples(texts)):
            steps = dict(each.steps)
            entry, _, entries = steps["slot"].partition(" of ")
            assert len(held["entries"]) == int(entries)
            path = held["entries"][int(entry)]
            assert (steps["path"], each.last[1]) == (f"{path} of 3", held["ports"][path - 1])

    in_world("table", tmp_path, check)


@every_target
def test_every_part_is_there_or_says_why_not(name: str) -> None:
    one = target(name)
    assert one.name == name
    assert set(one.descriptor.lacks) <= set(PARTS)
    for part in PARTS:
        place = {"session": FOLDERS / name / part, "lab": LAB_SWITCHES / name}.get(part, FOLDERS / name / f"{part}.py")
        assert place.exists() != (part in one.descriptor.lacks), part
        if part in one.descriptor.lacks:
            with pytest.raises(AnabranchError, match=f"target {name}: {part}: "):
                one.refuse(part)


@every_target
def test_a_plan_is_followed_or_the_command_says_why_not(name: str) -> None:
    lacking = target(name).descriptor.lacks.get("follow")
    assert (lacking is None) == (target(name).descriptor.follow is not None)
    if lacking is not None:
        run = anabranch("apply", "plan.toml", "--target", name, "--follow")
        assert (run.returncode, run.stderr) == (2, f"anabranch: error: target {name}: follow: {lacking}\n")


@every_target
def test_a_lab_has_such_switches_or_says_why_not(name: str, tmp_path: Path) -> None:
    lacking = target(name).descriptor.lacks.get("lab")
    if lacking is None:
        assert switching.part(name, "switching").SWITCHING.remove_lost("no-such-lab") is False
        return
    fabric = tmp_path / "fabric.toml"
    fabric.write_text('[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n')
    run = anabranch("lab", "up", str(fabric), "--switch", name)
    assert (run.returncode, run.stderr) == (2, f"anabranch: error: target {name}: lab: {lacking}\n")


@every_target
def test_options_of_other_targets_are_refused(name: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(plan_forms()[name].example)
    own = reach(name)
    for other in TARGETS:
        for option in sorted(reach(other) - own)[:1]:
            run = anabranch("diff", str(plan), "--target", name, f"--{option}", "x")
            assert run.returncode == 2
            hint = f"with --target {name} leave it out"
            assert f"{option}: x: of {target(other).descriptor.title}; {hint}" in run.stderr


def reach(name: str) -> set[str]:
    """Options of `diff` that a target has."""
    kind = registry.option_class(name, "reach")
    return set() if kind is None else {field.name for field in fields(kind)}


def test_a_table_is_compared_and_not_measured(tmp_path: Path) -> None:
    def check(world: World) -> None:
        plan = world.plan((2, "[4, 3, 2]"))

        def verified() -> tuple[int, str]:
            run = anabranch("verify", str(plan), "--target", "table", *world.flags)
            return run.returncode, " ".join(run.stdout.split())

        assert verified()[0] == 1
        world.apply(plan)
        status, said = verified()
        assert status == 0
        assert "no split was measured" in said

    in_world("table", tmp_path, check)


CHAIN = """
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 3
hosts_per_leaf = 1
[leaf.leaf1]
prefixes = ["10.1.1.0/24"]
"""


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.target)
def test_switches_of_every_kind_hold_the_shares_that_are_planned(kind: SwitchKind[Any]) -> None:
    text = CHAIN
    for switch, neighbours in {
        "leaf0": ("host0", "spine0", "spine1", "spine2"),
        "leaf1": ("host1", "spine0", "spine1", "spine2"),
        **dict.fromkeys(("spine0", "spine1", "spine2"), ("leaf0", "leaf1")),
    }.items():
        ports = ", ".join(f'{neighbour} = "{neighbour}"' for neighbour in neighbours)
        own = kind.example_of(switch, neighbours)
        text += f'[switch.{switch}]\ndatapath = "{kind.datapath}"\n{own}\nports = {{ {ports} }}\n'
    found = parse(text, "fabric.toml")
    assert {switch.target for switch in found.switches.values()} == {kind.target}
    forwarding, leaf0 = kind.forwarding(found), found.switches["leaf0"]
    network = found.prefixes["leaf1"]
    # Numbers at the switch; the port to the host has number 1.
    part = forwarding.towards(Towards(leaf0, "leaf1", 1, network, ((2, 4), (3, 0), (4, 2))), None)
    whole = forwarding.joined([forwarding.hosts(leaf0, []), part])
    assert forwarding.shares(leaf0, whole, "leaf1", 1) == pytest.approx({2: 2 / 3, 4: 1 / 3}, abs=0.001)
    assert forwarding.shares(leaf0, whole, "leaf0", 0) == {}
    # Again, with what is there: nothing moves.
    assert forwarding.towards(Towards(leaf0, "leaf1", 1, network, ((2, 4), (3, 0), (4, 2))), part) == part
    # A leaf that cannot be reached has something that drops, for somebody else's rule could take its packets.
    drops = forwarding.towards(Towards(leaf0, "leaf1", 1, network, ((2, 0), (3, 0))), None)
    assert drops != forwarding.joined([])
    session = kind.attend(surroundings_of(found)).sessions["leaf0"]
    assert (session.observed, session.desired(), session.change(), session.heard) == (None, None, None, False)


def surroundings_of(fabric: FabricFile) -> Surroundings:
    events = Events()
    network = Network(fabric, events)
    return Surroundings(fabric, network, events, Progress(), Wiring(fabric, network, events), lambda: None)


def test_a_target_is_a_folder_and_a_line() -> None:
    folders = {path.parent.name for path in FOLDERS.glob("*/target.py")}
    assert folders == set(TARGETS) == set(WORLDS)
