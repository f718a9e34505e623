"""The rooms of the Python package are law: a room imports those before it, and no modules import in a circle.

Code of a study is in `studies/`: it imports its own folder and every room but the last; no room imports it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "anabranch"
ROOMS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["anabranch"]["rooms"]
ABOVE = ("__init__", "__main__")
"""The package itself, whose names are of all rooms but the last, and its command."""


def modules() -> dict[str, Path]:
    """Modules of the package by their names within it; the package itself is `__init__`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts if parts[-1] != "__init__" else parts[:-1])
        found[name or "__init__"] = path
    assert len(found) > 200
    return found


MODULES = modules()


def imported(source: str, study: str = "") -> Iterator[str]:
    """Modules of the package that a source imports anywhere: in functions and for type checkers, too.

    Those that code of a study imports from its own folder are `STUDY/MODULE`.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and study and node.level:
            assert node.level == 1, "code of a study stands in one folder"
            yield from (f"{study}/{name}" for name in ([node.module] if node.module else [a.name for a in node.names]))
            continue
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole package"
            # What is imported may be a module, or stand in one.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            within = name.split(".")[1:]
            if name.split(".")[0] == "anabranch":
                while within and ".".join(within) not in MODULES and within != ["_core"]:
                    within.pop()
                yield ".".join(within) or "__init__"


def imports() -> dict[str, set[str]]:
    """Every module of the package with those that it imports."""
    return {name: set(imported(path.read_text(encoding="utf-8"))) - {name} for name, path in MODULES.items()}


def imports_of_studies() -> dict[str, set[str]]:
    """Every module of a study with those that it imports."""
    found = {}
    for path in sorted((ROOT / "studies").rglob("*.py")):
        study = path.parent.relative_to(ROOT).as_posix()
        found[f"{study}/{path.stem}"] = set(imported(path.read_text(encoding="utf-8"), study))
    return found


def rank(module: str) -> int:
    """Place of a module's room; the compiled core stands before all, the package itself before the last, `cli`."""
    return ["_core", *ROOMS[:-1], "__init__", ROOMS[-1], "__main__"].index(module.split(".")[0])


def upward(graph: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """Imports that may not be."""
    return {(module, target) for module, targets in graph.items() for target in targets if rank(target) > rank(module)}


def test_the_package_has_eight_rooms_and_nothing_beside_them() -> None:
    assert len(ROOMS) == 8
    assert {module.split(".")[0] for module in MODULES} == {*ROOMS, *ABOVE}


def test_rooms_import_only_those_before_them() -> None:
    assert sorted(upward(imports())) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_folders_of_reproduce_import_only_those_before_them() -> None:
    order = ["claims", "values", "records", "backends", "judge", "pages"]
    folders = {path.parent.name for path in PACKAGE.glob("reproduce/*/__init__.py")}
    assert folders == set(order)

    def folder(module: str) -> str:
        return module.split(".")[1] if module.startswith("reproduce.") else ""

    pairs = [(folder(module), folder(target)) for module, targets in imports().items() for target in targets]
    within = [(one, other) for one, other in pairs if one in order and other in order and one != other]
    assert len(within) > 30
    assert [pair for pair in within if order.index(pair[0]) < order.index(pair[1])] == []


def test_studies_import_their_own_folder_and_every_room_but_the_last() -> None:
    graph = imports_of_studies()
    assert len(graph) > 40
    own = {(module, target) for module, targets in graph.items() for target in targets if "/" in target}
    assert [pair for pair in own if pair[1] not in graph] == []
    rooms = {target.split(".")[0] for targets in graph.values() for target in targets if "/" not in target}
    assert rooms <= {"_core", *ROOMS[:-1]}
    assert [one for one in graph.values() for target in one if target.startswith("files.project.studies")] == []
    TopologicalSorter({module: {one for one in targets if "/" in one} for module, targets in graph.items()}).prepare()


def test_no_room_imports_a_study() -> None:
    texts = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
    assert [
        name for name, text in texts.items() if re.search(r"^\s*(?:from|import) .*project\.studies", text, re.M)
    ] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from . import cases", {"studies/a/b/cases"}),
        ("from .cases import CASES", {"studies/a/b/cases"}),
        (
            "def f():\n    from anabranch.lab.run import run\n    from .figure import draw",
            {"lab.run.run", "studies/a/b/figure"},
        ),
    ],
)
def test_imports_of_a_study_are_found(source: str, expected: set[str]) -> None:
    assert set(imported(source, "studies/a/b")) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import anabranch.simulate.study.sweep", {"simulate.study.sweep"}),
        ("from anabranch import _core", {"_core"}),
        ("from anabranch import run", {"__init__"}),
        ("from anabranch.simulate.study import sweep as s", {"simulate.study.sweep"}),
        ("from anabranch.simulate.study.sweep import sweep", {"simulate.study.sweep"}),
        ("def f():\n    from anabranch.lab.run import run", {"lab.run.run"}),
        ("if TYPE_CHECKING:\n    from anabranch.cli.verbs.split import trace", {"cli.verbs.split"}),
        ("import numpy, anabranch_else", set()),
    ],
)
def test_imports_are_found_wherever_they_stand(source: str, expected: set[str]) -> None:
    assert set(imported(source)) == expected


def test_an_import_of_a_later_room_is_seen() -> None:
    assert upward({"deploy.openflow.channel": {"lab.run.run", "files.errors", "deploy.openflow.port"}}) == {
        ("deploy.openflow.channel", "lab.run.run")
    }
    assert upward({"lab.run.run": {"__init__"}}) == {("lab.run.run", "__init__")}


@pytest.mark.parametrize("package", ["netlink", "openflow"])
def test_a_protocol_of_switches_loads_nothing_of_the_rest(package: str) -> None:
    names = [f"anabranch.{name}" for name in MODULES if name.startswith(f"deploy.{package}")]
    code = f"import json, sys, {', '.join(names)}; json.dump(sorted(sys.modules), sys.stdout)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    rooms = {"anabranch.deploy", "anabranch.files"}
    errors = {"anabranch.files.errors", "anabranch.files.hints"}
    assert {name for name in loaded if name.startswith("anabranch.")} <= {*names, *rooms, *errors}
    assert loaded.isdisjoint({"numpy", "polars", "scipy", "matplotlib", "rich", "typer"})
