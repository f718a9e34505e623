"""A key that stands twice is named, with its line, in every TOML file that is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.files.toml_document import parse_toml
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


@pytest.mark.parametrize(
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
def test_every_reader_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.toml").write_text("seed = 1\n\nseed = 2\n")
    done = anabranch(*command)
    assert done.returncode == 2
    assert done.stderr == "anabranch: error: f.toml:3: seed: duplicate key; keep one of the two, or rename one\n"
