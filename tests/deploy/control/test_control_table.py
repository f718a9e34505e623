"""Tables in files as the controller keeps them: a fabric of tables alone, and one that has bridges too."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from anabranch import AnabranchError
from anabranch.deploy.control import file
from anabranch.deploy.control.policy import build
from support.command import anabranch
from support.dummy_fabric import Running, dummy_fabric, members

PORTS = {
    "leaf0": ["host0", "spine0", "spine1"],
    "leaf1": ["host1", "spine0", "spine1"],
    "spine0": ["leaf0", "leaf1"],
    "spine1": ["leaf0", "leaf1"],
}


def fabric(folder: Path, policy: str = 'weights = "capacity"') -> str:
    text = '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n'
    text += f'[policy]\n{policy}\n[listen]\nhttp = "off"\n[measure]\naudit = "100 ms"\n'
    for switch, neighbours in PORTS.items():
        named = ", ".join(f'{name} = "{switch}-{name}"' for name in neighbours)
        text += f'[switch.{switch}]\ndatapath = "table"\nfolder = "{folder / switch}"\nports = {{ {named} }}\n'
    for leaf in (0, 1):
        text += f'[leaf.leaf{leaf}]\nprefixes = ["10.1.{leaf}.0/24"]\n'
        text += f'[host.host{leaf}]\naddresses = ["10.1.{leaf}.1"]\n'
    return text


def tables(folder: Path, switch: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / switch / "owner-0.json").read_text())
    return found


def test_once_writes_all_tables_and_a_dry_run_none(tmp_path: Path) -> None:
    plan = tmp_path / "fabric.toml"
    plan.write_text(fabric(tmp_path))
    shown = anabranch("control", str(plan), "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "+ table leaf1 10.1.1.0/24 -> min-move:slots=4096" in shown.stdout
    assert not (tmp_path / "leaf0").exists()
    assert anabranch("control", str(plan), "--once").returncode == 0
    leaf = tables(tmp_path, "leaf0")
    assert set(leaf) == {"host0", "leaf1"}
    assert (leaf["host0"]["prefixes"], leaf["host0"]["ports"]) == (["10.1.0.1/32"], ["leaf0-host0"])
    assert leaf["leaf1"]["ports"] == ["leaf0-spine0", "leaf0-spine1"]
    assert [leaf["leaf1"]["entries"].count(path) for path in (1, 2)] == [2048, 2048]
    # Switches hash by seeds of their own: with one for all, the second stage would use one port only.
    assert leaf["leaf1"]["seed"] != tables(tmp_path, "leaf1")["leaf0"]["seed"]
    again = anabranch("control", str(plan), "--dry-run")
    assert "table" not in again.stdout


def test_somebody_elses_change_is_put_back_and_a_restart_changes_nothing(tmp_path: Path) -> None:
    async def follow(drift: bool) -> int:
        async with Running(file.parse(fabric(tmp_path), "fabric.toml")) as running:
            await running.converged()
            if drift:
                (tmp_path / "leaf0" / "owner-0.json").write_text("{}\n")
                await running.until(lambda one: one.events["drifted"] == 1 and one.converged)
                assert set(tables(tmp_path, "leaf0")) == {"host0", "leaf1"}
            return sum(switch.changes for switch in running.controller.snapshot().switches)

    assert asyncio.run(follow(drift=True)) == 2 * 2 + 2 * 2 + 2
    assert asyncio.run(follow(drift=False)) == 0


def test_a_file_that_is_no_table_is_told_and_the_others_are_served(tmp_path: Path) -> None:
    (tmp_path / "leaf0").mkdir()
    (tmp_path / "leaf0" / "owner-0.json").write_text("[1]\n")

    async def follow() -> None:
        async with Running(file.parse(fabric(tmp_path), "fabric.toml")) as running:
            found = await running.until(
                lambda one: (
                    [switch.name for switch in one.switches if not switch.connected] == ["leaf0"]
                    and one.switches[0].last_error != ""
                )
            )
            assert "no table of anabranch" in found.switches[0].last_error
            (tmp_path / "leaf0" / "owner-0.json").unlink()
            await running.converged()

    asyncio.run(follow())


def test_a_table_avoids_a_link_whose_other_end_is_down(tmp_path: Path) -> None:
    with dummy_fabric(tmp_path) as bridges:
        openflow = f'openflow = "{bridges.open_vswitch.openflow("leaf0")}"\novsdb = "{bridges.open_vswitch.database}"'
        text = bridges.text()
        assert openflow in text
        text = text.replace(openflow, f'datapath = "table"\nfolder = "{tmp_path / "tables"}"')

        def entries() -> set[int]:
            return set(json.loads((tmp_path / "tables" / "owner-0.json").read_text())["leaf1"]["entries"])

        async def follow() -> None:
            async with Running(file.parse(text, "fabric.toml")) as running:
                snapshot = await running.converged()
                assert members(snapshot, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1}
                assert entries() == {1, 2}
                bridges.link("spine0-leaf0", up=False)
                await running.until(lambda one: one.converged and members(one, "leaf0", "leaf1") == {"spine1": 1})
                # A path keeps its number when another dies.
                assert entries() == {2}
                bridges.link("spine1-leaf0", up=False)
                await running.until(lambda one: one.converged and members(one, "leaf0", "leaf1") == {})
                assert entries() == set()

        asyncio.run(follow())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("/leaf1", "/leaf0", "switch.leaf1.folder: .*: leaf0 has it; each has its own"),
        ('datapath = "table"', 'datapath = "tables"', "switch.leaf0.datapath: tables: unknown; .*table"),
        ('folder = "', 'folders = "', "switch.leaf0.folder: missing; name the folder"),
        ("ports = {", 'recipe = "min-move:slots=9"\nports = {', "switch.leaf0.recipe: min-move:slots=9: unknown"),
        ("ports = {", 'openflow = "unix:/x"\nports = {', "switch.leaf0.openflow: unknown key"),
        ('weights = "capacity"', 'weights = "wino"', "policy.weights: wino: .* leaf0 is a table in a file"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = fabric(tmp_path)
    assert old in text
    with pytest.raises(AnabranchError, match=said):
        file.parse(text.replace(old, new, 1), "fabric.toml")


def test_every_policy_of_weights_plans_tables(tmp_path: Path) -> None:
    for name in ("capacity", "equal", "load"):
        assert build(name, file.parse(fabric(tmp_path, f'weights = "{name}"'), "fabric.toml"))
