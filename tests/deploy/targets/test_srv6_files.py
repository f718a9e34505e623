"""`anabranch plan --target srv6`: segments of explicit paths, SONiC's tables against their models, and bad input."""

from __future__ import annotations

import csv
import json
from ipaddress import IPv6Address, IPv6Interface, IPv6Network
from pathlib import Path
from typing import Any

import pytest

from support.command import Run, anabranch

LEAF_SPINE = '[fabric]\nkind = "leaf-spine"\nleaves = 3\nspines = 2\nhosts_per_leaf = 2\n'


def plan(folder: Path, text: str, *arguments: str) -> Run:
    (folder / "fabric.toml").write_text(text)
    out = ("--folder", str(folder / "out"))
    return anabranch("plan", str(folder / "fabric.toml"), "--target", "srv6", *out, *arguments)


def written(folder: Path, text: str, *arguments: str) -> Path:
    run = plan(folder, text, *arguments)
    assert run.returncode == 0, run.stderr
    return folder / "out"


def lists(out: Path) -> list[dict[str, str]]:
    with (out / "segment_lists.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_path_is_its_switches_and_the_end_of_the_tunnel(tmp_path: Path) -> None:
    """Switches count from 1: three leaves, then two spines. Each has 16 bits behind the block of 32."""
    rows = lists(written(tmp_path, LEAF_SPINE))
    from_host0 = [row for row in rows if row["host"] == "host0"]
    assert [(row["towards"], row["path"], row["mark"], row["segments"]) for row in from_host0] == [
        ("leaf1", "leaf0>spine0>leaf1", "1", "fcbb:bb00:4:2:fe06::"),
        ("leaf1", "leaf0>spine1>leaf1", "2", "fcbb:bb00:5:2:fe06::"),
        ("leaf2", "leaf0>spine0>leaf2", "1", "fcbb:bb00:4:3:fe06::"),
        ("leaf2", "leaf0>spine1>leaf2", "2", "fcbb:bb00:5:3:fe06::"),
    ]
    assert len(rows) == 6 * 4


def test_hosts_of_a_table_and_its_weights(tmp_path: Path) -> None:
    (tmp_path / "paths.csv").write_text(
        "path,weight\nleaf0>spine0>leaf1,6\nleaf0>spine1>leaf1,2\nleaf1>spine0>leaf2>spine1>leaf0,1\n"
        "host1>leaf0>spine1>leaf1>host3,1\n"
    )
    out = written(tmp_path, f'{LEAF_SPINE}[routing]\npaths.file = "paths.csv"\n')
    rows = {(row["host"], row["towards"], row["mark"]): row["segments"] for row in lists(out)}
    assert rows["host2", "leaf0", "1"] == "fcbb:bb00:4:3:5:1:fe06:0"
    assert ("host1", "host3", "1") in rows
    assert ("host0", "host3", "1") not in rows
    commands = (out / "host0" / "ip.batch").read_text().splitlines()
    (spread,) = [line for line in commands if line.startswith("route replace fd00:0:0:2::/64 nexthop")]
    assert [word.split()[0] for word in spread.split(" weight ")[1:]] == ["3", "1"], "in lowest terms"
    assert "rule add fwmark 2 lookup 1002" in commands


def checked(tables: dict[str, dict[str, dict[str, Any]]]) -> None:
    """What sonic-srv6.yang, sonic-static-route.yang and sonic-interface.yang of sonic-buildimage require."""
    assert tables.keys() == {"INTERFACE", "SRV6_MY_LOCATORS", "SRV6_MY_SIDS", "STATIC_ROUTE"}
    for locator in tables["SRV6_MY_LOCATORS"].values():
        assert locator.keys() <= {"prefix", "block_len", "node_len", "func_len", "arg_len", "vrf"}
        IPv6Address(locator["prefix"])  # mandatory, an address without its length
        lengths = [int(locator[f"{part}_len"]) for part in ("block", "node", "func", "arg")]
        assert all(1 <= length <= 128 for length in lengths[:3])
        assert 0 <= lengths[3] <= 128
        assert sum(lengths) <= 128
    for key, sid in tables["SRV6_MY_SIDS"].items():
        name, prefix = key.split("|")
        locator = tables["SRV6_MY_LOCATORS"][name]
        assert IPv6Network(prefix)
        assert sid.keys() <= {"action", "decap_vrf", "decap_dscp_mode", "interface", "adj"}
        assert sid["action"] in {"uN", "uA", "uDT46"}
        assert sid.get("decap_dscp_mode", "pipe") in {"uniform", "pipe"}
        assert sid.get("decap_vrf", "default") == "default"
        # The model's `must`: what stands before :: of the segment begins with that of the locator.
        assert prefix.partition("::")[0].startswith(locator["prefix"].partition("::")[0])
    ports = {key for key in tables["INTERFACE"] if "|" not in key}
    for key in tables["INTERFACE"].keys() - ports:
        port, address = key.split("|")
        assert port in ports
        IPv6Interface(address)
    for key, route in tables["STATIC_ROUTE"].items():
        vrf, prefix = key.split("|")
        assert vrf == "default"
        IPv6Network(prefix)
        assert route.keys() == {"nexthop", "ifname"}
        IPv6Address(route["nexthop"])
        assert route["ifname"] in ports


def test_sonic_tables_keep_to_their_models_and_lead_along_every_path(tmp_path: Path) -> None:
    out = written(tmp_path, LEAF_SPINE)
    switches = {file.parent.name: json.loads(file.read_text()) for file in out.glob("*/config_db.json")}
    assert set(switches) == {"leaf0", "leaf1", "leaf2", "spine0", "spine1"}
    at: dict[IPv6Address, str] = {}
    for name, tables in switches.items():
        checked(tables)
        for key in tables["INTERFACE"]:
            if "|" in key:
                at[IPv6Interface(key.split("|")[1]).ip] = name
    for row in lists(out):
        nodes = row["path"].split(">")
        value, node, passed = int(IPv6Address(row["segments"])), nodes[0], [nodes[0]]
        for _ in range(10):
            tables = switches[node]
            destination = IPv6Address(value)
            own = {IPv6Network(key.split("|")[1]): sid["action"] for key, sid in tables["SRV6_MY_SIDS"].items()}
            longest = max((sid for sid in own if destination in sid), key=lambda sid: sid.prefixlen, default=None)
            if longest is not None and own[longest] == "uDT46":
                break
            if longest is not None:
                # uN: the segments behind it move up behind the block.
                value = value >> 96 << 96 | (value & (1 << 80) - 1) << 16
                destination = IPv6Address(value)
            routes = tables["STATIC_ROUTE"].items()
            (route,) = [route for key, route in routes if destination in IPv6Network(key.split("|")[1])]
            node = at[IPv6Address(route["nexthop"])]
            passed.append(node)
        assert passed == nodes


def test_ports_of_the_file_are_used(tmp_path: Path) -> None:
    ports = '[switch.spine0]\nports = { leaf0 = "Ethernet8", leaf1 = "Ethernet16", leaf2 = "Ethernet24" }\n'
    out = written(tmp_path, LEAF_SPINE + ports)
    tables = json.loads((out / "spine0" / "config_db.json").read_text())
    assert {route["ifname"] for route in tables["STATIC_ROUTE"].values()} == {"Ethernet8", "Ethernet16", "Ethernet24"}
    assert "link set dev Ethernet16 up" in (out / "spine0" / "ip.batch").read_text()
    assert "Ethernet4" in (out / "leaf0" / "config_db.json").read_text()


def test_a_pair_alone_can_be_written(tmp_path: Path) -> None:
    rows = lists(written(tmp_path, LEAF_SPINE, "--pair", "leaf0", "leaf2"))
    assert {(row["host"], row["towards"]) for row in rows} == {("host0", "leaf2"), ("host1", "leaf2")}


GRAPH = """
[fabric]
kind = "graph"
node = [
  { name = "a", tier = "host" }, { name = "b", tier = "host" },
  { name = "leaf0", tier = "leaf" }, { name = "leaf1", tier = "leaf" }, { name = "spine0", tier = "spine" },
]
edge = [
  { from = "a", to = "leaf0" }, { from = "b", to = "leaf1" },
  { from = "leaf0", to = "spine0" }, { from = "leaf0", to = "spine0" }, { from = "spine0", to = "leaf1" },
]
"""


@pytest.mark.parametrize(
    ("text", "table", "arguments", "problem"),
    [
        (GRAPH, "", (), "path: leaf0>spine0>leaf1: leaf0 and spine0 have parallel links, and a switch's segment names"),
        (
            LEAF_SPINE,
            "leaf0>spine9>leaf1,1\n",
            (),
            "paths.csv:2: path: leaf0>spine9>leaf1: the fabric has no node `spine9`",
        ),
        (
            LEAF_SPINE,
            "leaf0>spine0>leaf1,257\nleaf0>spine1>leaf1,1\n",
            (),
            "257 in lowest terms, and next hops of Linux",
        ),
        (LEAF_SPINE, "", ("-o", "routing.delay=1"), "-o routing.delay: not used with explicit paths"),
        (
            LEAF_SPINE.replace("leaves = 3", "leaves = 4\nlinks_per_host = 2"),
            "",
            (),
            "fabric.toml: fabric: nic0 joins several links of a host; give each host one link",
        ),
        (
            '[fabric]\nkind = "rail-optimised"\n',
            "",
            (),
            "fabric.toml: fabric: server0 joins several links of a host; give each host one link",
        ),
    ],
)
def test_what_segments_cannot_say_is_refused(
    tmp_path: Path, text: str, table: str, arguments: tuple[str, ...], problem: str
) -> None:
    if table:
        (tmp_path / "paths.csv").write_text(f"path,weight\n{table}")
        text += '[routing]\npaths.file = "paths.csv"\n'
    run = plan(tmp_path, text, *arguments)
    assert run.returncode == 2, run.stderr
    assert problem in run.stderr
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    run = plan(tmp_path, f'{LEAF_SPINE}[routing]\npaths.file = "none.csv"\n')
    assert run.returncode == 2
    assert "routing.paths.file: none.csv: cannot be read: No such file" in run.stderr
