"""A target's name stands in its folder and the registry, and not in code that is written against the protocol."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import anabranch
from anabranch.deploy.targets.registry import TARGETS

PACKAGE = Path(anabranch.__file__).parent
NEUTRAL = (
    "cli/verbs",
    "deploy/control",
    *(f"lab/{folder}" for folder in ("calibration", "fabric", "run", "traffic")),
    *(f"deploy/targets/{name}" for name in ("plan", "protocol.py", "verbs.py", "forecast.py")),
)
"""Folders and files in which no target is named."""
IMPORT = re.compile(rf"anabranch\.(?:deploy\.targets|lab\.switches)\.({'|'.join(TARGETS)})(\.|$)")
OWN = "|".join([*(name for name in TARGETS if name != "table"), "open_?vswitch"])
"""Names that mean nothing but a target; a table may be any."""
IDENTIFIER = re.compile(rf"(^|_)({OWN})(_|$)", re.IGNORECASE)
TEXT = re.compile(rf"^({OWN})$|--(target|switch) ({OWN})\b|`({OWN})`")
"""Strings that are a name, or tell people to write one."""


def named(source: str) -> Iterator[str]:
    """Every place of a source that names a target; docstrings are for people."""
    tree = ast.parse(source)
    docs = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (f"line {node.lineno}: {name}" for name in names if IMPORT.match(name))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            if TEXT.search(node.value):
                yield f"line {node.lineno}: {node.value!r}"
        else:
            for field in ("id", "attr", "name", "arg"):
                name = getattr(node, field, None)
                if isinstance(name, str) and IDENTIFIER.search(name):
                    yield f"line {getattr(node, 'lineno', 0)}: {name}"


def found() -> dict[str, list[str]]:
    """Names by file."""
    files = [file for part in NEUTRAL for file in sorted((PACKAGE / part).rglob("*.py") or [])]
    files += [PACKAGE / part for part in NEUTRAL if part.endswith(".py")]
    each = {file.relative_to(PACKAGE).as_posix(): list(named(file.read_text(encoding="utf-8"))) for file in files}
    assert len(each) > 60
    return {name: places for name, places in each.items() if places}


def test_targets_are_named_in_their_folders_only() -> None:
    assert found() == {}


def test_a_planted_name_is_seen() -> None:
    for planted in (
        "from anabranch.deploy.targets.ebpf import verify",
        "def to_ovs() -> None: ...",
        'if name == "linux": pass',
        'raise ValueError("take --target ovs")',
    ):
        assert list(named(planted)), planted
