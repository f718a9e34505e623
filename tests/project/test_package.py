"""A package without a checkout around it: everything that its verbs need is in it."""

from __future__ import annotations

import json
import py_compile
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from anabranch import _core
from support.command import anabranch

ROOT = Path(__file__).resolve().parents[2]

ALONE = """
import os, sys

checkout, tree, *arguments = sys.argv[1:]
environments = tuple(os.path.join(checkout, name) + os.sep for name in (".venv", "target"))
sys.path[:] = [tree, *(path for path in sys.path if not path.startswith(os.path.join(checkout, "python")))]


def refuse(event, details):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(details[0], str):
        path = os.path.realpath(details[0])
        if path.startswith(checkout + os.sep) and not path.startswith(environments):
            raise RuntimeError(f"{path} is of the checkout")


sys.addaudithook(refuse)
import anabranch
from anabranch.cli import main

assert anabranch.__file__.startswith(tree), anabranch.__file__
sys.argv = ["anabranch", *arguments]
main()
"""
"""Runs the command by the package in a folder; whatever reads a file of the checkout fails."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the package as it is packed, and the compiled core."""
    folder = tmp_path_factory.mktemp("package")
    # As whoever imports an example does: the package is the same.
    py_compile.compile(str(ROOT / "examples" / "learn.py"))
    packed = subprocess.run(
        ["maturin", "sdist", "--out", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert packed.returncode == 0, packed.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        (top,) = {name.partition("/")[0] for name in file.getnames()}
        chosen = [member for member in file if member.name.startswith(f"{top}/python/")]
        assert all(member.isfile() for member in chosen), "a link would lead out of the package"
        # By hand: Python knows how to leave out what is unsafe since 3.10.12 and 3.11.4 only, and Debian 12 has 3.11.2.
        for member in chosen:
            content = file.extractfile(member)
            assert content is not None, member.name
            (folder / member.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / member.name).write_bytes(content.read())
    tree = folder / top / "python"
    shutil.copy(_core.__file__, tree / "anabranch")
    return tree


def run(package: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a verb of the package in a folder that has nothing else."""
    command = [sys.executable, "-c", ALONE, str(ROOT), str(package), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["studies", "examples"])
def test_the_package_has_the_files_of_the_checkout_and_no_others(package: Path, name: str) -> None:
    listed = subprocess.run(["git", "ls-files", "-z", name], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {path: (ROOT / path).read_bytes() for path in listed.stdout.split("\0") if path}
    assert len(tracked) > 15
    material = package / "anabranch" / "files" / "project"
    packed = {
        path.relative_to(material).as_posix(): path.read_bytes()
        for path in (material / name).rglob("*")
        if path.is_file()
    }
    assert packed == tracked


def test_it_tells_of_recorded_studies_what_the_checkout_tells(package: Path, tmp_path: Path) -> None:
    alone = run(package, tmp_path, "reproduce", "tdlb", "--recorded", "--json", "-")
    assert alone.returncode == 0, alone.stderr
    beside = anabranch("reproduce", "tdlb", "--recorded", "--json", "-", cwd=tmp_path)
    found, expected = json.loads(alone.stdout), json.loads(beside.stdout)
    assert len(expected["claims"]) > 20
    for key in ("groups", "claims"):
        assert found[key] == expected[key]


def test_a_record_is_not_kept_in_it(package: Path, tmp_path: Path) -> None:
    for arguments in (["reproduce", "valo/map"], ["lab", "reproduce", "valo"]):
        done = run(package, tmp_path, *arguments, "--record")
        assert done.returncode == 2
        assert "belongs to the installed package; leave --record out, or record in a checkout" in done.stderr
    assert not list(tmp_path.iterdir())


def test_examples_are_listed_and_copied(package: Path, tmp_path: Path) -> None:
    listed = run(package, tmp_path, "examples")
    assert "leaf-spine.toml" in listed.stdout
    copied = run(package, tmp_path, "examples", "--into", "examples")
    assert copied.returncode == 0, copied.stderr
    found = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    material = package / "anabranch" / "files" / "project"
    expected = {path.relative_to(material): path for path in (material / "examples").rglob("*") if path.is_file()}
    assert found == {name: path.read_bytes() for name, path in expected.items()}
    shown = run(package, tmp_path, "show", "examples/leaf-spine.toml")
    assert shown.returncode == 0, shown.stderr
    split = run(package, tmp_path, "split", "examples/datacenter.pcap.zst", "--weights", "4,3,2")
    assert split.returncode == 0, split.stderr
    (tmp_path / "examples" / "plan.toml").write_text("mine")
    again = run(package, tmp_path, "examples", "--into", "examples")
    assert again.returncode == 2
    assert "examples: exists already; give a folder that does not, or remove it" in again.stderr
    assert (tmp_path / "examples" / "plan.toml").read_text() == "mine"


@pytest.mark.parametrize("door", [None, "switches", "hosts"])
def test_a_crate_depends_on_the_sources_in_it(package: Path, tmp_path: Path, door: str | None) -> None:
    arguments = ["schemes", "new", "two-choices", *(() if door is None else ("--door", door))]
    done = run(package, tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    # What cargo reads of the crates and their workspace, without building them: nothing is missing.
    read = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--offline"],
        cwd=tmp_path / "two-choices",
        capture_output=True,
        text=True,
        check=False,
    )
    assert read.returncode == 0, read.stderr
    crates = {one["name"]: Path(one["manifest_path"]) for one in json.loads(read.stdout)["packages"]}
    assert crates["anabranch-sim"].is_relative_to(package / "anabranch" / "files" / "project" / "sources")
    assert all(path.is_file() for path in crates.values())


def test_a_load_balancer_in_the_tree_needs_a_checkout(package: Path, tmp_path: Path) -> None:
    done = run(package, tmp_path, "schemes", "new", "two-choices", "--in-tree")
    assert done.returncode == 2
    assert "has sources, but is no checkout to work in; clone the repository" in done.stderr
