"""Additions of the guide: each touches the files that its section names, and the tree compiles with all of them."""

from __future__ import annotations

import os
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from support.workspace_copy import copy_environment, workspace_copy

ROOT = Path(__file__).resolve().parents[2]
ADDITIONS = sorted((ROOT / "tests" / "docs" / "additions").glob("*.patch"))


def named_files(section: str) -> list[str]:
    """Files that a section of the guide has in its table, each with a star for NAME."""
    guide = (ROOT / "docs" / "adding.md").read_text()
    text = next(part for part in guide.split("\n## ") if part.startswith(f"{section}\n"))
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [name.replace("NAME", "*") for row in rows for name in re.findall(r"`([^`]+/[^`]+)`", row)]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return workspace_copy(tmp_path)


def apply(addition: Path, checkout: Path) -> None:
    # Within a repository git would pass over files that are not its own, in silence.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(checkout.parent)}
    command = ["git", "apply", str(addition)]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{addition.name} is stale: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda path: path.stem)
def test_an_addition_touches_the_files_that_the_guide_names(addition: Path) -> None:
    touched = re.findall(r"^\+\+\+ b/(.*)$", addition.read_text(), re.MULTILINE)
    names = named_files(addition.stem.replace("-", " ").capitalize())
    assert len(touched) == len(names)
    for name in names:
        assert any(fnmatch(path, name) for path in touched), f"{addition.name} does not touch {name}"


def test_the_tree_compiles_with_all_additions(checkout: Path) -> None:
    for addition in ADDITIONS:
        apply(addition, checkout)
    formatted = subprocess.run(
        ["cargo", "fmt", "--check", "--package", "anabranch-sim", "--package", "anabranch-scenario"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert formatted.returncode == 0, formatted.stdout
    environment = copy_environment()
    command = ["cargo", "check", "--locked", "--package", "anabranch-record", "--tests"]
    checked = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
