"""`anabranch control`: what the process does, from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.command import anabranch
from support.dummy_fabric import PATIENCE_S, DummyFabric, dummy_fabric

PATIENTLY = ("--timeout", f"{PATIENCE_S:g}")


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyFabric]:
    with dummy_fabric(tmp_path, settings='[measure]\naudit = "200 ms"') as found:
        (tmp_path / "fabric.toml").write_text(found.text())
        yield found


class Daemon:
    """A running `anabranch control`, and its log."""

    def __init__(self, file: Path) -> None:
        command = [sys.executable, "-m", "anabranch", "control", str(file)]
        self.log = file.with_suffix(".log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stderr=log)

    def events(self) -> list[dict[str, object]]:
        """Whole lines only."""
        return [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def await_events(self, kind: str, count: int) -> list[dict[str, object]]:
        """Waits until so many have been told."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = [event for event in self.events() if event["event"] == kind]
            if len(found) >= count:
                return found
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)


@contextmanager
def daemon(file: Path) -> Iterator[Daemon]:
    """One that is gone afterwards."""
    found = Daemon(file)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()


def test_a_dry_run_tells_and_changes_nothing_and_once_does_it(fabric: DummyFabric) -> None:
    file = str(fabric.folder / "fabric.toml")
    dry = anabranch("control", file, "--dry-run", *PATIENTLY)
    assert dry.returncode == 0
    assert dry.stdout.count("+ group") == 6
    assert "leaf0:" in dry.stdout
    assert "leaf0-spine1" in dry.stdout
    assert "changes to make" in dry.stdout
    once = anabranch("control", file, "--once", *PATIENTLY)
    assert once.returncode == 0
    assert "changes made" in once.stdout
    again = anabranch("control", file, "--once", *PATIENTLY)
    assert [line.split()[-1] for line in again.stdout.splitlines()[1:]] == ["0"] * 4
    assert anabranch("control", file, "--dry-run", *PATIENTLY).stdout.count("+") == 0


def test_the_documents_have_what_the_tables_have(fabric: DummyFabric) -> None:
    file = str(fabric.folder / "fabric.toml")

    def document(*options: str) -> dict[str, Any]:
        run = anabranch("control", file, *options, "--json", "-", *PATIENTLY)
        assert run.returncode == 0, run.stderr
        found: dict[str, Any] = json.loads(run.stdout)
        assert list(found)[:3] == ["command", "made_by", "fabric"]
        return found

    dry = document("--dry-run")
    assert (dry["dry_run"], dry["converged"], len(dry["reasons"])) == (True, False, 4)
    assert sum("+ group" in line for line in dry["lines"]) == 6
    assert all(switch["differences"] > 0 and not switch["changes"] for switch in dry["switches"])
    once = document("--once")
    assert (once["converged"], once["reasons"], once["lines"]) == (True, [], [])
    changes = {switch["name"]: switch["changes"] for switch in once["switches"]}
    assert changes == {switch["name"]: switch["differences"] for switch in dry["switches"]}
    assert {group["switch"] for group in once["groups"]} == set(changes)
    refused = anabranch("control", file, "--json", "-")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "json: -: only with --once or --dry-run" in refused.stderr


def test_once_says_which_switch_is_not_there(fabric: DummyFabric) -> None:
    fabric.open_vswitch.vsctl("del-br", "spine1")
    once = anabranch("control", str(fabric.folder / "fabric.toml"), "--once", "--timeout", "3")
    assert once.returncode == 1
    (problem,) = [line for line in once.stdout.splitlines() if line.startswith("spine1:")]
    assert "No such file" in problem


def test_signals(fabric: DummyFabric) -> None:
    file = fabric.folder / "fabric.toml"
    with daemon(file) as running:
        running.await_events("committed", 4)
        file.write_text(fabric.text('weights = "capacitty"'))
        running.process.send_signal(signal.SIGHUP)
        (failed,) = running.await_events("reload-failed", 1)
        assert "did you mean capacity?" in str(failed["error"])
        file.write_text(fabric.text('weights = "equal"'))
        running.process.send_signal(signal.SIGHUP)
        (reloaded,) = running.await_events("reloaded", 1)
        assert reloaded["policy"] == "equal"
        running.await_events("connected", 8)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE_S) == 0
        assert len([event for event in running.events() if event["event"] == "committed"]) == 4
        assert running.events()[-1]["event"] == "stopped"
    assert anabranch("control", str(file), "--dry-run", *PATIENTLY).stdout.count("+") == 0


def test_a_controller_that_is_killed_leaves_a_fabric_that_its_successor_takes_over(fabric: DummyFabric) -> None:
    file = fabric.folder / "fabric.toml"
    with daemon(file) as running:
        running.await_events("connected", 1)
        # In the middle of the first commits, most likely; wherever it is, the successor must come to the plan.
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
    assert anabranch("control", str(file), "--once", *PATIENTLY).returncode == 0
    assert anabranch("control", str(file), "--dry-run", *PATIENTLY).stdout.count("+") == 0


def test_switches_that_come_to_us(fabric: DummyFabric) -> None:
    socket = f"unix:{fabric.folder}/controller"
    text = fabric.text()
    numbers = {switch: number + 1 for number, switch in enumerate(sorted(fabric.ports()))}
    for switch, number in numbers.items():
        text = text.replace(f'"{fabric.open_vswitch.openflow(switch)}"', f'""\ndatapath_id = "{number:016x}"')
    text = text.replace('openflow = ""\n', "").replace("[listen]", f'[listen]\nopenflow = "{socket}"')
    file = fabric.folder / "come.toml"
    file.write_text(text)
    for switch in numbers:
        fabric.open_vswitch.vsctl(
            "set-controller", switch, socket, "--", "set", "bridge", switch, "protocols=OpenFlow15"
        )
    fabric.open_vswitch.vsctl(
        "add-br", "other", "--", "set", "bridge", "other", "datapath_type=dummy", "protocols=OpenFlow15",
        "--", "set-controller", "other", socket,
    )  # fmt: skip
    with daemon(file) as running:
        running.await_events("committed", 4)
        running.await_events("stranger", 1)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE_S) == 0


def test_a_bad_file_is_an_error_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text('[fabric]\nkind = "leaf-spine"\nleaves = 1\n[policy]\nweight = "equal"\n')
    found = anabranch("control", str(file), "--once", *PATIENTLY)
    assert found.returncode == 2
    assert "policy.weight: unknown key; did you mean weights?" in found.stderr
