"""`anabranch schemes new --in-tree`: the folder it writes, what it refuses, and that the tree takes it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from anabranch.simulate.own.in_tree import SOURCES, TEMPLATE
from support.command import anabranch
from support.workspace_copy import copy_environment, workspace_copy

ROOT = Path(__file__).resolve().parents[3]
ALONE = """
[package]
name = "alone"
edition = "2024"
[lib]
path = "{pick}"
[dependencies]
anabranch-split = {{ path = "{root}/crates/split", default-features = false }}
[workspace]
"""
FILES = {"mod.rs", "pick.rs", "descriptor.rs", "switch.rs", "page.md"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return workspace_copy(tmp_path)


def add_lines(checkout: Path, said: str) -> None:
    """Adds the lines that the command printed, each after the last of its kind."""
    lines = re.findall(rf"^  ({re.escape(str(SOURCES))}/\w+\.rs): (.*)$", said, re.MULTILINE)
    assert len(lines) == 2
    for name, line in lines:
        path = checkout / name
        text = path.read_text()
        last = {"lib.rs": "pub mod wino;\n", "registry.rs": "    &uec::REPS_LEGACY,\n"}[path.name]
        indent = last[: len(last) - len(last.lstrip())]
        assert text.count(last) == 1
        path.write_text(text.replace(last, f"{last}{indent}{line}\n"))


@pytest.mark.parametrize("name", ["zz", "two-choices", "a-load-balancer-with-a-rather-long-name"])
def test_a_folder_is_the_template_under_its_name(checkout: Path, name: str) -> None:
    before = {path.name for path in (checkout / SOURCES).iterdir()}
    done = anabranch("schemes", "new", name, "--in-tree", "--source", str(checkout))
    assert done.returncode == 0, done.stderr
    module = name.replace("-", "_")
    folder = checkout / SOURCES / module
    assert {path.name for path in (checkout / SOURCES).iterdir()} == before | {module}
    assert {path.name for path in folder.iterdir()} == FILES
    text = "".join((folder / file).read_text() for file in FILES)
    assert not re.search("blank.?scheme", text, re.IGNORECASE)
    for expected in (f'name: "{name}"', f"pub static {module.upper()}: Descriptor", f"# {name}\n"):
        assert expected in text
    add_lines(checkout, done.stdout)
    assert f"    &crate::{module}::{module.upper()},\n" in (checkout / SOURCES / "registry.rs").read_text()
    rustfmt = ["rustfmt", "--edition", "2024", "--check", *(str(path) for path in folder.glob("*.rs"))]
    checked = subprocess.run(rustfmt, cwd=checkout, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Foo"], "Foo: no name for a load balancer; use small letters"),
        (["fn"], "fn: no name for a load balancer"),
        (["../foo"], "no name for a load balancer"),
        (["conga"], "exists already; choose another name"),
        (["task"], "task.rs: exists already; choose another name"),
        (["ecmp"], "ecmp: a load balancer has this name already; choose another"),
        (["uec-mixed"], "uec-mixed: a load balancer has this name already; choose another"),
        (["foo", "--into", "."], "--into: a load balancer in the tree has its place; name the checkout by --source"),
    ],
)
def test_what_cannot_be_written_is_refused(checkout: Path, arguments: list[str], message: str) -> None:
    before = sorted(path.name for path in (checkout / SOURCES).iterdir())
    done = anabranch("schemes", "new", *arguments, "--in-tree", "--source", str(checkout))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert sorted(path.name for path in (checkout / SOURCES).iterdir()) == before


def test_another_folder_is_no_checkout(tmp_path: Path) -> None:
    done = anabranch("schemes", "new", "foo", "--in-tree", "--source", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "no sources of anabranch" in done.stderr


def test_the_template_has_the_parts_of_a_folder() -> None:
    assert {path.name for path in TEMPLATE.iterdir()} == FILES


def test_the_tree_compiles_with_it(checkout: Path) -> None:
    done = anabranch("schemes", "new", "two-choices", "--in-tree", "--source", str(checkout))
    assert done.returncode == 0, done.stderr
    add_lines(checkout, done.stdout)
    environment = copy_environment()
    command = ["cargo", "check", "--locked", "-p", "anabranch-balancers", "--lib"]
    checked = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_the_test_of_its_pick_says_what_to_fill_in(checkout: Path) -> None:
    """The pick alone, as the kernel's programs take it, so that the engine is not compiled for its tests."""
    done = anabranch("schemes", "new", "two-choices", "--in-tree", "--source", str(checkout))
    assert done.returncode == 0, done.stderr
    alone = checkout.parent / "alone"
    alone.mkdir()
    shutil.copyfile(ROOT / "Cargo.lock", alone / "Cargo.lock")
    (alone / "Cargo.toml").write_text(ALONE.format(pick=checkout / SOURCES / "two_choices" / "pick.rs", root=ROOT))
    environment = copy_environment()
    command = ["cargo", "test", "--offline", "--lib"]
    tested = subprocess.run(command, cwd=alone, env=environment, capture_output=True, text=True, check=False)
    assert tested.returncode == 101, tested.stderr
    assert "test tests::the_rule_is_filled_in ... FAILED" in tested.stdout, tested.stderr
    assert "write the rule into `pick`" in tested.stdout
