"""End of a daemon as seen from outside, at moments at which no process waits for it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from anabranch.deploy.targets.ovs.daemons import SWITCH, OpenVSwitch


def test_a_daemon_that_ends_while_its_state_is_read_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_text = Path.read_text
    with subprocess.Popen(["sleep", "60"]) as process:
        (tmp_path / f"{SWITCH}.pid").write_text(f"{process.pid}\n")

        def late(path: Path, *arguments: Any, **named: Any) -> str:
            if path.parts[1] != "proc":
                return read_text(path, *arguments, **named)
            with path.open() as file:
                process.kill()
                process.wait()
                return file.read()

        monkeypatch.setattr(Path, "read_text", late)
        assert OpenVSwitch(tmp_path, dummy=True).pid(SWITCH) is None
    assert process.returncode == -9
