"""The verb `anabranch lab` from making a lab to removing it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.lab.calibration import calibrate
from anabranch.lab.fabric import record
from anabranch.lab.fabric.topology import Lab, remove
from anabranch.lab.switches.ovs.switching import open_vswitch
from support.command import anabranch
from support.completion import completed
from support.lab_fixture import need_ovs_lab, new_name

FABRIC = '[fabric]\nkind = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nlink = { rate = "2 Gbps" }\n'


def listed(name: str) -> str:
    return next((line for line in anabranch("lab", "list").stdout.splitlines() if line.startswith(name)), "")


def test_a_lab_from_up_to_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_ovs_lab()
    name = new_name()
    # A path longer than a line, which must not break the other columns.
    scenario = tmp_path / ("long" * 30) / "s.toml"
    scenario.parent.mkdir()
    scenario.write_text(FABRIC)
    try:
        run = anabranch("lab", "up", str(scenario), "--name", name, "--scale", "0.01", "--control")
        assert run.returncode == 0, run.stderr
        for said in ("2 hosts, 4 switches, 6 links", "times 0.01", "delays are not emulated", "http://127.0.0.1:"):
            assert said in run.stdout
        lab = Lab.open(name)
        assert [cable.b.rate_bps for cable in lab.blueprint.cables] == [20_000_000] * 6
        assert " up " in listed(name)
        assert lab.record.http in listed(name)
        for verb in ("down", "calibrate"):
            assert completed(f"anabranch lab {verb} {name[:-2]}") == [name]
        open_vswitch(lab).kill("ovs-vswitchd")
        assert "ovs-vswitchd ended" in listed(name)
        for constant, value in (("SWITCHES", (1, 2)), ("BISECTIONS", 1), ("TCP_S", 0.2), ("FACTOR", 8.0)):
            monkeypatch.setattr(calibrate, constant, value)
        first = anabranch("lab", "calibrate", name)
        assert "TCP payload" in first.stdout, first.stderr
        assert anabranch("lab", "calibrate", name).stdout == first.stdout
        ceiling = json.loads(anabranch("lab", "calibrate", name, "--json", "-").stdout)
        assert (ceiling["lab"], ceiling["headroom"]) == (name, 0.8)
        assert [path["switches"] for path in ceiling["paths"]] == [1, 2]
        assert f"{ceiling['paths'][0]['small_pps'] / 1e3:,.0f}" in first.stdout
        (row,) = (
            row for row in json.loads(anabranch("lab", "list", "--json", "-").stdout)["labs"] if row["lab"] == name
        )
        assert (row["state"], row["switches"], row["scale"]) == ("ovs-vswitchd ended", "ovs", 0.01)
        assert row["controller"] == f"http://{lab.record.http}/"
        record.write(record.Record(**vars(lab.record) | {"complete": False}))
        assert "not whole" in listed(name)
        (lab.folder / record.FILE).rename(lab.folder / "kept")
        assert "empty" in listed(name)
        (lab.folder / "kept").rename(lab.folder / record.FILE)
        assert anabranch("lab", "down", name).stdout == f"{name}: removed\n"
        assert anabranch("lab", "down", name).stdout == f"{name}: not there\n"
        assert not listed(name)
    finally:
        remove(name)
