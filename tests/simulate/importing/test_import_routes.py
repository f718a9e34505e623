"""`anabranch import` of a routing daemon's routes: they become a plan; faults are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.deploy.targets.registry import plan_forms
from support.command import anabranch
from support.zebra_routes import PLANS


@pytest.mark.parametrize("row", PLANS)
def test_routes_of_a_daemon_become_a_plan(row: str, tmp_path: Path) -> None:
    (tmp_path / "routes.json").write_text(PLANS[row])
    done = anabranch("import", "routes.json", "--into", "ours", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 route of bgp with one path, and no weights: not taken over" in done.stdout
    assert "1 route of other protocols: not taken over" in done.stdout
    (group,) = plan_forms()["linux"].read(tmp_path / "ours" / "plan.toml").groups
    assert [str(prefix) for prefix in group.prefixes] == ["10.1.1.0/24"]
    assert [str(hop) for hop in group.hops] == ["fe80::1 on spine0", "10.9.1.2 on spine1"]
    assert group.weights == ("57", "42")
    again = anabranch("import", "routes.json", "--into", "ours", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (2, "anabranch: error: ours: exists; give a new folder by --into\n")
    for text, error in (
        (PLANS[row].replace('"bgp"', '"ospf"'), "routes.json: no route of bgp with several paths among 3; give what"),
        (PLANS[row].replace("10.1.1.0/24", "10.1.1.7/24"), "routes.json: 10.1.1.7/24: not in the form of zebra"),
        (PLANS[row][:-3], "routes.json:"),
    ):
        (tmp_path / "routes.json").write_text(text)
        bad = anabranch("import", "routes.json", "--into", "other", cwd=tmp_path)
        assert (bad.returncode, bad.stderr.startswith(f"anabranch: error: {error}")) == (2, True), bad.stderr
        assert not (tmp_path / "other").exists()
