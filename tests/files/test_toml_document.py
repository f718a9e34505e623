"""A key that stands twice is named, with its line, in every TOML file that is read; what is endless is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.files.toml_document import LEVELS_MAX, parse_toml
from support.command import anabranch


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a = 1\nb = 2\na = 3\n", "3: a"),
        ("a = 1\na = 3", "2: a"),
        ('"a key" = 1\n"a key" = 3', '2: "a key"'),
        ("[t]\nweights = [1, 2]\nweights = [\n  3,\n  4,\n]\n", "3: weights"),
        ("[t]\nx = 1\n[u]\n[t]\ny = 1\n", "4: t"),
        ("a.b = 1\na.b = 2\n", "2: a.b"),
        ("a = { b = 1, b = 2 }\n", "1: b"),
    ],
)
def test_the_key_is_named(text: str, where: str) -> None:
    with pytest.raises(AnabranchError) as raised:
        parse_toml(text, "f.toml")
    assert str(raised.value) == f"f.toml:{where}: duplicate key; keep one of the two, or rename one"


READERS = pytest.mark.parametrize(
    "command",
    [
        ("sweep", "f.toml"),
        ("run", "f.toml"),
        ("split", "f.toml"),
        ("plan", "--weights", "f.toml"),
        ("diff", "f.toml"),
        ("diff", "f.toml", "--target", "linux"),
        ("diff", "f.toml", "--target", "ebpf"),
        ("control", "f.toml", "--once"),
    ],
)


@READERS
def test_every_reader_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.toml").write_text("seed = 1\n\nseed = 2\n")
    done = anabranch(*command)
    assert done.returncode == 2
    assert done.stderr == "anabranch: error: f.toml:3: seed: duplicate key; keep one of the two, or rename one\n"


def nested(form: str, levels: int) -> str:
    """A value in so many lists or tables, one of whose keys is `x`."""
    if form == "lists":
        return f"x = {'[' * levels}{']' * levels}\n"
    if form == "inline tables":
        return f"x = {'{x=' * levels}1{'}' * levels}\n"
    key = ".".join("x" * (levels + 1))
    return f"{key} = 1\n" if form == "dotted key" else f"[{'.'.join('x' * levels)}]\nx = 1\n"


FORMS = ("lists", "inline tables", "dotted key", "head of a table")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("levels", [LEVELS_MAX + 1, 330, 1000, 3000, 100_000])
def test_no_nesting_ends_in_a_traceback(form: str, levels: int) -> None:
    with pytest.raises(AnabranchError, match=rf"f\.toml:.* nested more than {LEVELS_MAX} deep; nest less"):
        parse_toml(f"a = 1\n{nested(form, levels)}", "f.toml")


@pytest.mark.parametrize("form", FORMS)
def test_as_many_levels_are_read_as_a_file_may_have(form: str) -> None:
    parse_toml(nested(form, LEVELS_MAX), "f.toml")


@pytest.mark.parametrize("number", ["9" * 4301, "-" + "9" * 5000, "1_" * 4300 + "1"])
def test_an_endless_number_is_named_by_its_line(number: str) -> None:
    with pytest.raises(AnabranchError, match=r"^f\.toml:3: an integer of more than 64 bits; give one below 2\^63$"):
        parse_toml(f"a = [1,\n2,\n{number}]\n", "f.toml")


ENDLESS = {
    "1,000 lists": f"seed = {'[' * 1000}{']' * 1000}\n",
    "3,000 parts": f"seed.{'.'.join('x' * 3000)} = 1\nowner.{'.'.join('x' * 3000)} = 1\n",
    "4,301 digits": f"seed = {'9' * 4301}\n",
}


@READERS
@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_every_reader_refuses_what_is_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.toml").write_text(text)
    done = anabranch(*command)
    assert done.returncode == 2
    assert re.fullmatch(r"anabranch: error: f\.toml.*; .*\n", done.stderr), done.stderr[:500]


def test_there_is_one_reader() -> None:
    package = Path(__file__).resolve().parents[2] / "python" / "anabranch"
    importing = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"^\s*(import|from) toml", path.read_text(), re.MULTILINE)
    }
    assert importing == {"files/toml_document.py"}
