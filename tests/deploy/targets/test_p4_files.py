"""`anabranch plan --target p4`: what is written for a fabric's switches, and bad input."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from finsy import P4Schema, P4TableAction, P4TableEntry
from finsy.p4entity import decode_entity
from finsy.proto import p4r
from google.protobuf import text_format

from anabranch.deploy.targets.p4.p4runtime import P4INFO
from support.command import Run, anabranch
from support.two_stages import FIG_2, fabric

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "p4-fig2.toml"
LEAVES = '[leaf.S1]\nprefixes = ["10.1.1.0/24"]\n[leaf.S6]\nprefixes = ["10.1.6.0/24", "10.2.0.0/16"]\n'


def plan(folder: Path, *arguments: str | Path, file: str | Path = EXAMPLE) -> Run:
    return anabranch("plan", "--target", "p4", str(file), "--folder", str(folder), *map(str, arguments))


def held(folder: Path, switch: str) -> list[tuple[str, dict[str, Any], str, dict[str, int]]]:
    """Entries of a switch as a P4Runtime client reads them: table, match, action and its parameters."""
    request = text_format.Parse((folder / switch / "entries.txtpb").read_text(), p4r.WriteRequest())
    assert {update.type for update in request.updates} <= {p4r.Update.INSERT}
    found = []
    schema = P4Schema(folder / P4INFO.name)
    for update in request.updates:
        entry = decode_entity(update.entity, schema)
        assert isinstance(entry, P4TableEntry)
        assert entry.match is not None
        assert isinstance(entry.action, P4TableAction)
        found.append((entry.table_id, dict(entry.match), entry.action.name, dict(entry.action.args)))
    return found


def test_each_switch_has_its_lists_and_the_addresses_of_leaves(tmp_path: Path) -> None:
    fabric_file = tmp_path / "fabric.toml"
    fabric_file.write_text(f"[fabric]\n{fabric(FIG_2)}\n{LEAVES}")
    done = plan(tmp_path / "out", file=fabric_file)
    assert done.returncode == 0, done.stderr
    # Ports: 1 to S1, 2 to S4, 3 to S5. Lists: S1 to S6 by S4 and S5 in turn, and back.
    assert held(tmp_path / "out", "S2") == [
        ("turns", {"list_id": 1, "turn": 0}, "send", {"port": 2}),
        ("turns", {"list_id": 1, "turn": 1}, "send", {"port": 3}),
        ("turns", {"list_id": 2, "turn": 0}, "send", {"port": 1}),
        ("pairs", {"source": 1, "destination": 2}, "take_turn", {"list_id": 1, "turns": 2}),
        ("pairs", {"source": 2, "destination": 1}, "take_turn", {"list_id": 2, "turns": 1}),
        ("sources", {"address": (0x0A010100, 24)}, "from_leaf", {"leaf": 1}),
        ("sources", {"address": (0x0A010600, 24)}, "from_leaf", {"leaf": 2}),
        ("sources", {"address": (0x0A020000, 16)}, "from_leaf", {"leaf": 2}),
        ("destinations", {"address": (0x0A010600, 24)}, "to_leaf", {"leaf": 2}),
        ("destinations", {"address": (0x0A020000, 16)}, "to_leaf", {"leaf": 2}),
        ("destinations", {"address": (0x0A010100, 24)}, "to_leaf", {"leaf": 1}),
    ]
    # A leaf's only host is behind all of its prefixes.
    hosts = [row[1:] for row in held(tmp_path / "out", "S6") if row[0] == "hosts"]
    assert hosts == [
        ({"address": (0x0A010600, 24)}, "send", {"port": 1}),
        ({"address": (0x0A020000, 16)}, "send", {"port": 1}),
    ]


def test_both_forms_hold_the_same_entries(tmp_path: Path) -> None:
    plan(tmp_path / "out")
    for switch in json.loads((tmp_path / "out" / "switches.json").read_text())["switches"]:
        counted = Counter(row[0] for row in held(tmp_path / "out", switch["name"]))
        folder = tmp_path / "out" / switch["name"]
        assert {file.stem: len(file.read_text().splitlines()) for file in folder.glob("*.swx")} == {
            table: counted[table] for table in ("hosts", "sources", "destinations", "pairs", "turns")
        }


def test_the_plan_of_a_pair_and_numbers_of_ports(tmp_path: Path) -> None:
    fabric_file = tmp_path / "fabric.toml"
    spines = "\n".join(
        f'[switch.spine{spine}]\nports = {{ leaf0 = ["7", "8"], leaf1 = ["17", "18"] }}' for spine in (0, 1)
    )
    fabric_file.write_text(
        '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nparallel_links = 2\nhosts_per_leaf = 2\n'
        '[leaf.leaf0]\nprefixes = ["10.0.0.0/24"]\n[leaf.leaf1]\nprefixes = ["10.0.1.0/24"]\n'
        + "".join(f'[host.host{host}]\naddresses = ["10.0.{host // 2}.{host % 2 + 1}"]\n' for host in range(4))
        + spines
    )
    done = plan(tmp_path / "out", "--pair", "leaf0", "leaf1", "--json", "-", file=fabric_file)
    found = json.loads(done.stdout)
    assert (found["target"], found["balance"]) == ("p4", "dbb")
    switches = {switch["name"]: switch for switch in found["switches"]}
    assert switches["spine0"]["ports"] == {"leaf0#0": 7, "leaf0#1": 8, "leaf1#0": 17, "leaf1#1": 18}
    (only,) = switches["spine0"]["lists"]
    assert (only["from"], only["to"], sorted(only["ports"])) == ("leaf0", "leaf1", [17, 18])
    assert switches["leaf1"]["lists"] == []
    assert [row[1:] for row in held(tmp_path / "out", "leaf1")] == [
        ({"address": (0x0A000101, 32)}, "send", {"port": 1}),
        ({"address": (0x0A000102, 32)}, "send", {"port": 2}),
    ]


def test_a_folder_is_replaced_whole_and_no_other(tmp_path: Path) -> None:
    plan(tmp_path / "out")
    before = {file.name for file in (tmp_path / "out").iterdir()}
    (tmp_path / "out" / "S1" / "stale.swx").write_text("")
    assert plan(tmp_path / "out").returncode == 0
    assert not (tmp_path / "out" / "S1" / "stale.swx").exists()
    assert {file.name for file in (tmp_path / "out").iterdir()} == before
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "notes.txt").write_text("theirs")
    done = plan(tmp_path / "theirs")
    assert (done.returncode, done.stdout) == (2, "")
    assert "theirs: has files of others; name one that is new" in done.stderr
    assert [file.name for file in (tmp_path / "theirs").iterdir()] == ["notes.txt"]


BAD_FILES = [
    ("", "leaf.S1.prefixes: missing; give the addresses behind it"),
    ('[leaf.S2]\nprefixes = ["10.0.0.0/24"]', "leaf.S2: no leaf; use one of S1, S6"),
    (LEAVES.replace("10.1.1.0/24", "fd00::/64"), "leaf.S1.prefixes: fd00::/64: the program reads IPv4 alone"),
    (LEAVES.replace("10.1.1.0/24", "0.0.0.0/0"), "leaf.S1.prefixes: 0.0.0.0/0: all there is; give"),
    (LEAVES.replace("10.1.1.0/24", "10.1.6.0/24"), "leaf.S6.prefixes: 10.1.6.0/24: S1 has it"),
    (LEAVES + '[host.h1]\naddresses = ["fd00::1"]', "host.h1.addresses: fd00::1/128: the program reads IPv4 alone"),
    (
        LEAVES + '[switch.S1]\nports = { h1 = "eth1", S2 = "2", S3 = "3" }',
        "switch.S1.ports.h1: eth1: no number of a port",
    ),
    (
        LEAVES + '[switch.S1]\nports = { h1 = "511", S2 = "2", S3 = "3" }',
        "h1: 511: no number of a port; give one from 1",
    ),
    (LEAVES + '[switch.S1]\nports = { h1 = "3", S2 = "2", S3 = "3" }', "an interface stands there twice"),
    (LEAVES + '[switch.S1]\nports = { h1 = "03", S2 = "2", S3 = "3" }', "a number stands there twice"),
    (LEAVES + '[routing]\nbalance = "dbb"\nscheme = { counter = "independent" }', "scheme.counter: independent: the"),
]


@pytest.mark.parametrize(("more", "message"), BAD_FILES)
def test_a_bad_file_is_refused_and_nothing_is_written(more: str, message: str, tmp_path: Path) -> None:
    fabric_file = tmp_path / "fabric.toml"
    fabric_file.write_text(f"[fabric]\n{fabric(FIG_2)}\n{more}")
    done = plan(tmp_path / "out", file=fabric_file)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: {fabric_file}: " in done.stderr
    assert message in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["fabric.toml"]


def test_hosts_that_share_a_leaf_need_addresses(tmp_path: Path) -> None:
    fabric_file = tmp_path / "fabric.toml"
    more = '{ from = "h7", to = "S6" },'
    fabric_file.write_text(f"[fabric]\n{fabric(FIG_2, more)}\n{LEAVES}")
    done = plan(tmp_path / "out", file=fabric_file)
    assert "host.h6.addresses: missing; it is not the only one of S6; write [host.h6]" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "p4"), "target: p4: files for the switches of a fabric; give its file"),
        (("--target", "p4", EXAMPLE), "folder: missing; name the folder to write"),
        (
            ("--target", "p4", "--target", "wino", EXAMPLE, "--folder", "out"),
            "target: wino: plans no lists of next hops",
        ),
        (("--target", "p4", "--target", "ovs", EXAMPLE, "--folder", "out"), "target: ovs: plans for --weights"),
        (("--target", "p4", "--target", "conga", EXAMPLE, "--folder", "out"), "target: conga: no load balancer that"),
        (("--target", "p4", EXAMPLE, "--folder", "out", "-o", "fabric.link.rate=1"), "-o fabric.link.rate=1: not used"),
        (
            ("--target", "p4", EXAMPLE, "--folder", "out", "-o", "routing.scheme.counter='independent'"),
            "independent: the",
        ),
        (("--target", "p4", EXAMPLE, "--folder", "out", "--pair", "S1", "S9"), "pair: S9: unknown"),
        (("--target", "dbb", EXAMPLE, "--folder", "out", "--pair", "S1", "S6"), "folder: out: nothing is written but"),
        (("--weights", "1,2", "--folder", "out"), "folder: needs a fabric"),
    ],
)
def test_bad_options_are_refused_with_a_hint(arguments: tuple[str | Path, ...], message: str, tmp_path: Path) -> None:
    done = anabranch("plan", *map(str, arguments), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_guide_shows_what_is_printed(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "deploy-p4.md").read_text(encoding="utf-8")
    shown = guide.partition("$ anabranch plan --target p4 examples/p4-fig2.toml --folder switches\n")[2].partition(
        "```"
    )[0]
    done = anabranch("plan", "--target", "p4", str(EXAMPLE), "--folder", "switches", cwd=tmp_path)
    assert shown.splitlines() == [line.rstrip() for line in done.stdout.splitlines()]


def test_a_program_without_room_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.deploy.targets.p4 import p4runtime as files_p4runtime

    small = tmp_path / "small.txtpb"
    small.write_text(P4INFO.read_text().replace("size: 131072", "size: 2"))
    monkeypatch.setattr(files_p4runtime, "_schema", lambda: P4Schema(small))
    done = plan(tmp_path / "out")
    assert "S2: 3 entries for turns: the program has room for 2" in done.stderr
    assert not (tmp_path / "out").exists()
