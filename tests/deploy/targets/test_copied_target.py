"""A target is a folder and a line of the registry: a copy of `table` is known everywhere without anything else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import anabranch
from anabranch.cli.reference import fabric_file, plan_file
from anabranch.cli.reference.schema.files import schemas
from anabranch.deploy.targets.registry import TARGETS, WRITTEN

PACKAGE = Path(anabranch.__file__).parent
ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 60
ASK = """
import json
import pathlib
import anabranch
from anabranch.cli.reference import command_line, fabric_file, plan_file
from anabranch.cli.reference.schema.files import schemas
from anabranch.deploy.targets import registry, verbs
from anabranch.deploy.targets.plan.options import target_names

pages = {"command": command_line.page(), "fabric": fabric_file.page(), "plan": plan_file.page()}
pathlib.Path("tables").mkdir()
pathlib.Path("plan.toml").write_text(registry.plan_forms()["copied"].example)
copy, options = registry.target("copied"), registry.option_class("copied", "reach")("tables")
changes = [verbs.apply(copy, "plan.toml", options, dry_run=dry_run).changes for dry_run in (True, False, False)]
changes.append(len(verbs.verify(copy, "plan.toml", options, seconds=0.0, connections=None).lines))
changes.append(verbs.remove(copy, "plan.toml", options, dry_run=False).changes)
print(json.dumps([anabranch.__file__, pages, schemas(), target_names(""), changes]))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, linked but for its targets, of which there is one more: `copied`."""
    root = tmp_path_factory.mktemp("tree")
    here, there = PACKAGE, root / "anabranch"
    for within in ("deploy", "targets", ""):
        there.mkdir()
        for entry in here.iterdir():
            if entry.name not in (within, "__pycache__"):
                (there / entry.name).symlink_to(entry)
        here, there = here / within, there / within
    for file in (here / "table").rglob("*.py"):
        copy = there / "copied" / file.relative_to(here / "table")
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8").replace("targets.table", "targets.copied")
        text = text.replace('"table"', '"copied"').replace('"Table"', '"Copied"')
        if file.name == "switch_kind.py":
            # A key that no other kind of switches has.
            text = text.replace('"folder"', '"place"').replace("'folder = ", "'place = ")
        copy.write_text(text, encoding="utf-8")
    registry = there / "registry.py"
    text = registry.read_text(encoding="utf-8")
    registry.unlink()
    registry.write_text(re.sub(r"(?m)^(TARGETS = .*)\)$", r'\1, "copied")', text), encoding="utf-8")
    return root


class Answers(NamedTuple):
    """What the package with the copy says."""

    file: str
    pages: dict[str, str]
    schemas: dict[str, Any]
    names: list[str]
    """Names of targets."""
    changes: list[int]
    """Changes of the copy by the verbs: before and in `apply`, in a second one, found by `verify`, of `remove`."""


@pytest.fixture(scope="module")
def answers(tree: Path) -> Answers:
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = Answers(*json.loads(done.stdout))
    assert Path(answers.file).is_relative_to(tree)
    return answers


def test_the_page_of_plans_and_the_schemas_have_the_copy(
    answers: Answers,
) -> None:
    pages, made = answers.pages, answers.schemas
    assert answers.names == [*TARGETS, "copied"]
    before, _, added = pages["plan"].partition("## Copied\n")
    # Targets that are only compared come behind those that are changed.
    added, _, behind = added.partition("\n## ")
    assert f"{before}## {behind}" == plan_file.page()
    assert "The target `copied`: groups as JSON files" in added
    assert (
        added.partition("```")[2]
        == before.partition("## Table\n")[2].partition("\n## ")[0].partition("```")[2].rstrip() + "\n"
    )
    known = schemas()
    assert set(made) == {*known, "plan-copied"}
    title = "Plan of anabranch for the target copied"
    assert made["plan-copied"] == {**known["plan-table"], "title": title}
    assert {name for name in known if made[name] != known[name]} == {"fabric"}


def test_the_controller_and_the_command_line_have_the_copy(
    answers: Answers,
) -> None:
    pages, made = answers.pages, answers.schemas
    kinds = made["fabric"]["properties"]["switch"]["additionalProperties"]["properties"]["datapath"]["enum"]
    assert kinds[0] == "openflow"
    assert kinds[-1] == "copied"
    (recipe,) = (line for line in pages["fabric"].splitlines() if line.startswith("| `switch.NAME.recipe` "))
    (place,) = (line for line in pages["fabric"].splitlines() if line.startswith("| `switch.NAME.place` "))
    assert 'Only with `datapath = "table" or "copied"`.' in recipe
    assert 'Only with `datapath = "copied"`.' in place
    assert 'Only with `datapath = "table"`.' in fabric_file.page()
    # Help is broken into lines.
    assert " ".join(pages["command"].split()).count(f"`{TARGETS[-1]}` or `copied`") >= 6


def test_the_verbs_put_a_plan_into_the_copy(answers: Answers) -> None:
    assert answers.changes == [1, 1, 0, 0, 1]


def test_the_guide_says_which_files_a_target_is() -> None:
    """Thirteen, of which eleven are its folder; every target has them."""
    section = (ROOT / "docs/adding.md").read_text().partition("## Target\n")[2].partition("\n## ")[0]
    table = section.partition("\n|")[2].partition("\n\n")[0]
    files = re.findall(r"`([\w./]+)`", "".join(line.split("|")[1] for line in ("|" + table).splitlines()))
    assert len(files) == 13
    folder = "python/anabranch/deploy/targets/NAME/"
    own = [name for name in files if name.startswith(folder)]
    assert len(own) == 11
    assert sorted(set(files) - set(own)) == [
        "python/anabranch/deploy/targets/registry.py",
        "tests/deploy/targets/test_common.py",
    ]
    for target in TARGETS:
        assert [name for name in own if not (ROOT / name.replace("NAME", target)).is_file()] == []
    assert not {*TARGETS} & {*WRITTEN}
