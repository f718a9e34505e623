"""Keys that a reader of files asks for stand on a reference page, with all that a page needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import anabranch
from anabranch.cli.reference import fabric_file, study
from anabranch.cli.reference.keys import key_rows
from anabranch.deploy.targets.registry import plan_forms
from anabranch.files.settings import REQUIRED, TABLE, Key, Settings, asked

PACKAGE = Path(anabranch.__file__).parent
GETTERS = ("take", "text", "given", "one_of", "flag", "integer", "number", "duration_s", "rate_bps", "texts")


def keys_in(source: str) -> Iterator[str]:
    """Names of the keys that a module asks for."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GETTERS:
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def names(keys: Mapping[str, Key]) -> set[str]:
    return {path.rpartition(".")[2] for path in keys}


def test_examples_ask_for_every_key_that_readers_have() -> None:
    plans = {name: names(asked(form.parse, [form.example])) for name, form in plan_forms().items()}
    fabric = names(fabric_file.keys())
    known = {
        **{f"deploy/targets/{name}/": keys | fabric for name, keys in plans.items()},
        "deploy/targets/plan/": set[str]().union(*plans.values()),
        "deploy/control/": fabric,
        "simulate/study/": names(study.simulator()),
    }
    counted = 0
    for folder, keys in known.items():
        for file in sorted((PACKAGE / folder).rglob("*.py")):
            read = set(keys_in(file.read_text(encoding="utf-8")))
            assert read <= keys, f"{file}: the example has to ask for {read - keys}"
            counted += len(read)
    assert counted > 70


def read(text: str, file: str) -> None:
    """A reader with a table, a table of names, and keys that differ in their names alone."""
    settings = Settings(file, "", {"part": {}, "of": {"x": {}}, "text": text})
    for key in ("first", "second"):
        settings.integer(key, 1, 0, 9, "A number.")
    settings.table("part", "Nothing.").end()
    settings.table("of", names=True).table("x").text("file", "", "A file.", otherwise=REQUIRED, values="a file")
    settings.rate_bps("rate", 2_000_000_000, "A rate.")


def test_a_page_has_the_names_values_defaults_and_meanings_of_keys() -> None:
    rows = key_rows(asked(read, ["x"])).splitlines()[2:]
    assert rows == [
        "| `first, second` | a whole number from 0 to 9 | `1` | A number. |",
        "| `of.NAME.file` | a file | required | A file. |",
        '| `rate` | a rate such as "10 Gbps" | `"2 Gbps"` | A rate. |',
    ]


def test_a_default_that_is_no_value_has_to_be_said_in_words() -> None:
    with pytest.raises(ValueError, match=r"seed: the default None is no value of the key"):
        key_rows({"seed": Key("seed", None, "a whole number", "A seed.", "")})
    assert "| kept |" in key_rows({"seed": Key("seed", None, "a whole number", "A seed.", "kept")})
    assert "`part`" in key_rows({"part": Key("part", {}, TABLE, "A part.", REQUIRED)})
