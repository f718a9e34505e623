"""What the wheel is tried with, in a Python that has the package's own dependencies and no extras."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import anabranch

ROOT = Path(__file__).parents[2]

FOR_EXTRAS = (
    "deploy.control.daemon",
    "deploy.control.pages",
    "simulate.learning.environment",
    "deploy.netlink",
    "simulate.runs.timeline",
    "deploy.targets.ebpf",
    "deploy.targets.frr",
    "deploy.targets.linux",
)
"""Modules that may need a package of an extra when they are imported: a verb imports them where it does their job."""

IMPORT_ALL = """
import importlib, pkgutil, sys
import anabranch

def walk(package):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if module.name.startswith("anabranch.files.project.") or module.name.endswith("_main__"):
            continue
        try:
            found = importlib.import_module(module.name)
        except BaseException as error:
            print(f"{module.name}: {error}")
        else:
            if module.ispkg:
                walk(found)

walk(anabranch)
"""


def needed(name: str) -> Iterator[str]:
    """Distributions that an installation of `name` without extras brings, by the metadata of what is installed here."""
    known, waiting = set(), [name]
    while waiting:
        one = waiting.pop()
        if one in known:
            continue
        known.add(one)
        try:
            requirements = distribution(one).requires or ()
        except PackageNotFoundError:  # For another Python, or another system.
            continue
        yield one
        for requirement in requirements:
            named = re.match(r"[\w.-]+", requirement)
            if named is not None and "extra ==" not in requirement:
                waiting.append(named[0].lower().replace("_", "-"))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of links to the package and to what it depends on."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "anabranch").symlink_to(Path(anabranch.__file__).parent)
    for name in needed("anabranch"):
        files = distribution(name).files or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (folder / top).exists() and not top.endswith(".pth"):
                (folder / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return folder


def run(packages: Path, folder: Path, *arguments: str) -> str:
    """Runs Python with these packages and the standard library alone; returns what it prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_lines_that_try_a_wheel_need_no_extra(packages: Path, tmp_path: Path) -> None:
    lines = runpy.run_path(str(ROOT / "packaging/check.py"))["VERBS"].strip().splitlines()
    assert len(lines) > 10
    for line in lines:
        program, *arguments = line.split()
        run(packages, tmp_path, "-m", program, *arguments)


def test_only_modules_for_an_extra_ask_for_it_at_import(packages: Path, tmp_path: Path) -> None:
    failed = run(packages, tmp_path, "-c", IMPORT_ALL).splitlines()
    allowed = tuple(f"anabranch.{name}" for name in FOR_EXTRAS)
    assert any("pyroute2" in line for line in failed), "what an extra brings is still there"
    assert [line for line in failed if not line.startswith(allowed)] == []
