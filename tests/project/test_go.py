"""The reader in Go: formatted, vetted and tested on the vectors, where Go is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "go"


@pytest.fixture
def go() -> str:
    """The program `go`; without it the test is skipped."""
    program = shutil.which("go", path=f"{os.environ['PATH']}:/usr/local/go/bin")
    if program is None:
        pytest.skip("there is no Go")
    return program


def answer(*command: str) -> str:
    """What a command prints; it must end with status 0. Nothing is fetched: the module needs Go alone."""
    environment = {**os.environ, "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    ended = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_it_is_formatted_and_vetted(go: str) -> None:
    assert answer(str(Path(go).resolve().with_name("gofmt")), "-l", ".") == ""
    answer(go, "vet", "./...")


def test_it_passes_its_tests(go: str) -> None:
    # Go keeps results by the module's own files, and the vectors are beside it: `-count=1` runs the tests anew.
    printed = answer(go, "test", "-count=1", "-v", "./...")
    passed = {line.split()[2] for line in printed.splitlines() if line.startswith("--- PASS: ")}
    assert passed >= {
        "TestSnapshotsPickWhatTheVectorsSay",
        "TestExportedTablesPickWhatTheVectorsSay",
        "TestSnapshotsByHandAreAcceptedAndRefused",
        "TestForgedSnapshotsPickMembersThatTheyHave",
        "FuzzRead",
    }
