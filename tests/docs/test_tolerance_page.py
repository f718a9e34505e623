"""The page of `anabranch tolerance`: each command prints what the page shows, and ends with its status."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from support.command import anabranch

PAGE = (Path(__file__).parents[2] / "docs" / "tolerance.md").read_text()
FILES = re.findall(r'^``` title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^```\n\$ (anabranch [^\n]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
STATUS = {"cannot tell:": 3, "chance explains this:": 0}


def status(shown: str) -> int:
    """The status by what a command says: its verdict, or whether an ideal hash passes."""
    if verdict := re.search(r"^[a-z ]+:(?= )", shown.partition("\n\n")[2], re.MULTILINE):
        return STATUS.get(verdict[0], 1)
    return int("no number of flows" in shown or ("the narrowest band" in shown and "fails in" in shown))


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_commands_print_what_the_page_shows(command: str, shown: str, tmp_path: Path) -> None:
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    done = anabranch(*shlex.split(command)[1:], cwd=tmp_path)
    assert done.stderr == ""
    assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()
    assert done.returncode == status(shown)


def test_the_page_shows_every_status() -> None:
    assert len(SHOWN) > 10
    assert {status(shown) for _, shown in SHOWN} == {0, 1, 3}
