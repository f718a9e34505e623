"""The layers of the Python package are law: imports only point downward, and never in a circle."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "anabranch"
RANKS: list[list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["anabranch"]["ranks"]


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


def imported(source: str) -> Iterator[str]:
    """Modules of the package that a source imports anywhere: in functions and for type checkers, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
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


@cache
def entry(module: str) -> tuple[int, str]:
    """Rank and name of the most exact entry of the ranks that a module belongs to."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        inner = ".".join(parts[:length])
        for rank, names in enumerate(RANKS):
            for name in names:
                if name.count(".") == length - 1 and fnmatchcase(inner, name):
                    return rank, name
    raise LookupError(f"{module}: has no rank; name its package in [tool.anabranch] of pyproject.toml")


def may_import(module: str, target: str) -> bool:
    """Whether the target stands lower, or in the same rank of the same package."""
    (own, _), (other, _) = entry(module), entry(target)
    return other < own or (other == own and module.split(".")[0] == target.split(".")[0])


def upward(graph: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """Imports that may not be."""
    return {
        (module, target) for module, targets in graph.items() for target in targets if not may_import(module, target)
    }


def test_every_package_has_one_rank() -> None:
    named = [name for names in RANKS for name in names]
    assert len(named) == len(set(named))
    assert {entry(module)[1] for module in [*MODULES, "_core"]} == set(named), "a rank of nothing"


def test_imports_point_downward() -> None:
    assert sorted(upward(imports())) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import anabranch.study.sweep", {"study.sweep"}),
        ("from anabranch import _core", {"_core"}),
        ("from anabranch import run", {"__init__"}),
        ("from anabranch.study import sweep as s", {"study.sweep"}),
        ("from anabranch.study.sweep import sweep", {"study.sweep"}),
        ("def f():\n    from anabranch.lab.run import run", {"lab.run.run"}),
        ("if TYPE_CHECKING:\n    from anabranch.cli.split import trace", {"cli.split"}),
        ("import numpy, anabranch_else", set()),
    ],
)
def test_imports_are_found_wherever_they_stand(source: str, expected: set[str]) -> None:
    assert set(imported(source)) == expected


def test_an_import_against_the_ranks_is_seen() -> None:
    assert upward({"openflow.channel": {"study.sweep", "errors", "openflow.port"}}) == {
        ("openflow.channel", "study.sweep")
    }
    assert upward({"plot.fabric": {"lab.run.run"}}) == {("plot.fabric", "lab.run.run")}


@pytest.mark.parametrize("package", ["netlink", "openflow"])
def test_a_protocol_of_switches_loads_nothing_of_the_rest(package: str) -> None:
    names = [f"anabranch.{name}" for name in MODULES if name.split(".")[0] == package]
    code = f"import json, sys, {', '.join(names)}; json.dump(sorted(sys.modules), sys.stdout)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert {name for name in loaded if name.startswith("anabranch.")} <= {*names, "anabranch.errors", "anabranch.hints"}
    assert loaded.isdisjoint({"numpy", "polars", "scipy", "matplotlib", "rich", "typer"})
