"""Imports: a command imports only what it needs, and Ctrl-C while importing is as quiet as later."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch as ab
from anabranch import _core
from anabranch.files import errors
from support.small_scenario import write_small

LIST_MODULES = """
import json, sys
from anabranch.__main__ import start
try:
    start()
except SystemExit:
    pass
json.dump(sorted(sys.modules), sys.stderr)
"""

INTERRUPT = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
"""


def imported(*arguments: str) -> set[str]:
    """Modules that a command line has imported by its end."""
    done = subprocess.run([sys.executable, "-c", LIST_MODULES, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr))


SLOW = {
    "aiohttp",
    "anabranch._core",
    "asyncio",
    "distributed",
    "matplotlib",
    "numpy",
    "ovs",
    "polars",
    "pyroute2",
    "rich",
    "scipy",
}
"""Packages that take longer to import than help takes to be written."""


def test_help_imports_nothing_that_takes_long() -> None:
    found = imported("--help")
    assert "anabranch.cli.verbs.split" in found
    assert found.isdisjoint(SLOW)


@pytest.mark.parametrize("verb", ["apply", "doctor", "lab", "reproduce", "split"])
def test_the_help_of_a_verb_imports_nothing_that_takes_long(verb: str) -> None:
    assert imported(verb, "--help").isdisjoint(SLOW)


def test_a_run_loads_no_statistics_that_take_longer_than_it(tmp_path: Path) -> None:
    write_small(tmp_path)
    found = imported("run", str(tmp_path / "small.toml"), "--runs", str(tmp_path / "runs"))
    assert "polars" in found
    assert found.isdisjoint({"matplotlib", "scipy"})


def test_a_scenario_is_shown_without_numbers_and_plots(tmp_path: Path) -> None:
    write_small(tmp_path)
    found = imported("show", str(tmp_path / "small.toml"))
    assert found.isdisjoint({"matplotlib", "numpy", "polars", "scipy"})


def test_a_split_without_a_page_loads_no_plots() -> None:
    found = imported("split", "--generate", "nat:100", "--weights", "2,1", "--technique", "min-move")
    assert "numpy" in found
    assert found.isdisjoint({"jinja2", "matplotlib", "polars"})


def test_a_verb_imports_no_other() -> None:
    found = {name for name in imported("control", "--help") if name.startswith("anabranch.cli.verbs.")}
    assert found == {"anabranch.cli.verbs.control"}


def test_an_error_is_one_class_for_both_halves_and_survives_a_pickle() -> None:
    with pytest.raises(ab.AnabranchError) as raised:
        _core.Splitter("min-move", ["x"])
    assert type(raised.value) is ab.AnabranchError is errors.AnabranchError
    assert repr(ab.AnabranchError) == "<class 'anabranch.AnabranchError'>"
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (type(copy), str(copy)) == (ab.AnabranchError, str(raised.value))


def test_everything_public_is_there() -> None:
    code = (
        "import anabranch.cli.verbs.schemes, anabranch as ab; [getattr(ab, name) for name in ab.__all__]; ab.schemes()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(ab.__all__) <= set(dir(ab))
    with pytest.raises(AttributeError, match="has no attribute 'scheme'"):
        ab.scheme  # noqa: B018


@pytest.mark.parametrize("program", [["-m", "anabranch"], [str(Path(sys.executable).parent / "anabranch")]])
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("typer", ["--help"]),
        ("anabranch.cli.verbs.split", ["--help"]),
        ("numpy", ["schemes"]),
        ("polars", ["run", "small.toml", "--quiet"]),
    ],
)
def test_ctrl_c_while_importing_ends_without_a_word(
    tmp_path: Path, program: list[str], module: str, arguments: list[str]
) -> None:
    write_small(tmp_path)
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT)
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "INTERRUPT_AT": module},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (130, "")
