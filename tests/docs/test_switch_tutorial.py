"""The tutorial that splits traffic on a switch, on a real Open vSwitch in namespaces that end with the test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support.needs import brings, need_open_vswitch

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorials" / "weighted-split.md"
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)

SWITCH = """\
run=/run/openvswitch
mkdir $run
export OVS_RUNDIR=$run OVS_LOGDIR=$run OVS_DBDIR=$run
ovsdb-tool create $run/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server $run/conf.db --remote=punix:$run/db.sock --detach --no-chdir --pidfile --log-file 2>/dev/null
ovs-vsctl --no-wait init
ovs-vswitchd unix:$run/db.sock --detach --no-chdir --pidfile --log-file 2>/dev/null
"""
"""Open vSwitch as a distribution's service starts it, in the empty /run of a world of its own."""


@brings("root", "ovs")
def in_a_world_with_a_switch(script: str, folder: Path) -> str:
    """Runs a script beside daemons of Open vSwitch, in namespaces that take both along when it ends."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / "tests" / "own_world.sh", "bash", "-e", "-c", SWITCH + script],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    need_open_vswitch()
    script = []
    for number, (language, file, text) in enumerate(BLOCK.findall(PAGE.read_text())):
        if file:
            (tmp_path / file).write_text(text)
        else:
            assert language == "sh", f"a block of {language} that is no file"
            script.append(f"{text}\necho '== {number}'")
    said = in_a_world_with_a_switch("\n".join(script), tmp_path)
    for line in re.findall(r"^     (\S.*)$", PAGE.read_text(), re.MULTILINE):
        assert line in said
    assert said.index("not there yet") < said.index("nothing to do") < said.index("there\n==")
    assert "selection_method=dp_hash" in said
    assert "as planned: chance alone puts 2,000 connections as far off in" in said
