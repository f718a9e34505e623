"""Third-party licences that a wheel carries: every crate that is linked into it, in its locked version."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^\* (\S+) (\S+)", re.MULTILINE)
LICENCE = re.compile(r"^```text\n(.+?)^```$", re.MULTILINE | re.DOTALL)


def listed(text: str) -> set[tuple[str, str]]:
    """Names and versions of the crates in the file."""
    return {(found[1], found[2]) for found in ENTRY.finditer(FENCED.sub("", text))}


@pytest.fixture(scope="module")
def linked() -> set[tuple[str, str]]:
    """Names and versions of the crates that the extension module is linked of, by cargo and Cargo.lock."""
    tree = "cargo tree --package anabranch-py --edges normal --target x86_64-unknown-linux-gnu --prefix none"
    command = [*tree.split(), "--locked", "--offline", "--format", "{p}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^(\S+) v(\S+)", done.stdout, re.MULTILINE)
    assert len(found) > 50
    return set(found)


def test_every_linked_crate_is_listed_and_no_other(linked: set[tuple[str, str]]) -> None:
    text = (ROOT / "THIRD-PARTY.md").read_text()
    assert listed(text) == linked, "THIRD-PARTY.md is stale: make licences"
    # Every heading has crates and the text of their licence.
    texts = LICENCE.findall(text)
    assert len(texts) == len(re.findall("^## ", FENCED.sub("", text), re.MULTILINE))
    assert all(len(one) > 400 for one in texts)


def test_an_older_version_would_be_noticed(linked: set[tuple[str, str]]) -> None:
    text = (ROOT / "THIRD-PARTY.md").read_text()
    assert listed(text.replace("* zstd ", "* zstd-of-old ", 1)) != linked
