"""Programs of `bench/control`: what runs in no regular command is broken sooner or later."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from support.needs import need_open_vswitch
from support.own_namespace import in_own_namespace

FOLDER = Path(__file__).parents[3] / "bench" / "control"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "outage")
"""All but what `failover` imports."""


def run(program: str, *arguments: str) -> None:
    """Runs a program within this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        patch.setattr(sys, "argv", [program, *arguments])
        try:
            importlib.import_module(program).main()
        finally:
            for name in (*PROGRAMS, "outage"):
                sys.modules.pop(name, None)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_begins(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(program, "--help")
    assert ended.value.code == 0
    assert f"usage: {program}" in capsys.readouterr().out


@in_own_namespace
def _restored() -> None:
    run("restore", "--trials", "1")


def test_a_path_comes_back_to_all_followers(capsys: pytest.CaptureFixture[str]) -> None:
    _restored()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[:-3] for row in rows[1:]] == [["apply", "--follow"], ["control"], ["control,", "agent"]]
    assert all(float(row[-1]) > 0 for row in rows[1:])


def test_takeovers_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    need_open_vswitch()
    run("takeover", "--kills", "2")
    printed = " ".join(capsys.readouterr().out.split())
    assert "2 kills, each followed by bridges as planned; nothing was changed without a role" in printed


def test_a_small_fabric_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    need_open_vswitch()
    run("scale", "--leaves", "2", "--spines", "2", "--trials", "1")
    assert "empty tables" in capsys.readouterr().out
