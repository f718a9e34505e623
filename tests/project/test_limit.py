"""Limits of runs, of programs of Rust tests and of Python tests: what does not end is ended and says where it stood."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.waiting import wait

ROOT = Path(__file__).parents[2]
LIMIT, OWN_WORLD = ROOT / "tests" / "limit.sh", ROOT / "tests" / "own_world.sh"
HANGS = """
import pathlib, subprocess, sys, time
pathlib.Path("/proc/thread-self/comm").write_text("name_of_a_test")
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""
HANGING_RUST = """
mod folder {
    mod module {
        #[test]
        fn a_test_that_hangs() {
            std::thread::sleep(std::time::Duration::from_secs(600));
        }
    }
}
"""
HANGING_TESTS = """
import itertools, time

def test_that_waits():
    time.sleep(600)

def test_that_holds_the_interpreter():
    sum(itertools.repeat(0))
"""


def test_what_hangs_is_ended_with_its_children() -> None:
    run = subprocess.run([str(LIMIT), "1", sys.executable, "-c", HANGS], capture_output=True, text=True, check=False)
    assert run.returncode == 124
    assert "still running after 1 s" in run.stderr
    assert "time.sleep(600)" in run.stderr
    assert "name_of_a_test" in run.stderr
    assert "sleep" in run.stderr.split("still running")[1]
    child = Path("/proc", run.stdout.strip(), "stat")

    def ended() -> bool:
        # Killed, it stays as a zombie until somebody asks for its status.
        return not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z"

    wait(ended, lambda: f"{child} still runs")


def test_what_ends_has_its_own_status() -> None:
    for status in (0, 3):
        run = subprocess.run(
            [str(LIMIT), "60", "sh", "-c", f"echo said; exit {status}"], capture_output=True, text=True
        )
        assert (run.returncode, run.stdout, run.stderr) == (status, "said\n", "")


def test_a_program_that_cargo_runs_has_a_limit_if_asked_for() -> None:
    """In a world of its own, where the stacks of what runs are seen."""
    environment = {name: value for name, value in os.environ.items() if name != "ANABRANCH_OWN_WORLD"}
    for limit, status in (("1", 124), ("", 7)):
        command = [str(OWN_WORLD), sys.executable, "-c", HANGS if limit else "raise SystemExit(7)"]
        run = subprocess.run(command, env=environment | {"ANABRANCH_LIMIT_S": limit}, capture_output=True, text=True)
        assert run.returncode == status
        assert ("name_of_a_test" in run.stderr) == bool(limit)


@pytest.mark.slow
def test_a_rust_test_that_hangs_is_named_in_full(tmp_path: Path) -> None:
    """By the test runner, after its minute: of a thread's name Linux keeps the folder and the module."""
    (tmp_path / "hanging.rs").write_text(HANGING_RUST)
    program = tmp_path / "hanging"
    subprocess.run(["rustc", "--test", "--edition", "2024", "-o", program, "hanging.rs"], cwd=tmp_path, check=True)
    environment = {name: value for name, value in os.environ.items() if name != "ANABRANCH_OWN_WORLD"}
    command = [str(OWN_WORLD), str(program), "--quiet"]
    run = subprocess.run(command, env=environment | {"ANABRANCH_LIMIT_S": "65"}, capture_output=True, text=True)
    assert run.returncode == 124
    assert "test folder::module::a_test_that_hangs has been running for over 60 seconds" in run.stdout
    assert "folder::module:" in run.stderr
    assert "sleep" in run.stderr


def test_a_test_that_hangs_fails_by_its_name_and_its_stack(tmp_path: Path) -> None:
    """By the limits of pyproject.toml, made shorter; the second leaves time to write what the first has to say."""
    (tmp_path / "test_hanging.py").write_text(HANGING_TESTS)
    command = [sys.executable, "-m", "pytest", f"--config-file={ROOT / 'pyproject.toml'}", f"--rootdir={tmp_path}"]
    command += ["-p", "xdist", "-p", "pytest_timeout", "--numprocesses=2", "--dist=loadgroup"]
    command += ["-o", "timeout=1", "-o", "faulthandler_timeout=10", str(tmp_path)]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    said = run.stdout + run.stderr
    for words in (
        "2 failed",
        "def test_that_waits():\n>       time.sleep(600)\nE       Failed: Timeout (>1.0s) from pytest-timeout",
        "crashed while running 'test_hanging.py::test_that_holds_the_interpreter'",
        'test_hanging.py", line 8 in test_that_holds_the_interpreter',
    ):
        assert words in said, said
