"""Notebooks of the documentation: their cells run in order, and every result shows itself."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHOWN = ("_repr_html_", "_repr_svg_")
"""Methods by which a value shows itself in a notebook."""
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


def cells(path: Path) -> list[str]:
    """Sources of the cells that hold code."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "outputs go stale: clear them"
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def execute(source: str, names: dict[str, Any], where: str) -> Any:
    """Runs a cell; the value of its last line, if that is an expression, as a notebook has it."""
    tree = ast.parse(source, where)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, where, "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), where, "exec"), names)
    return eval(compile(ast.Expression(last.value), where, "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_does_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = 0
    for number, source in enumerate(cells(path)):
        value = execute(source, names, f"{path.name}, cell {number}")
        if value is not None:
            pages = [getattr(value, name)() for name in SHOWN if hasattr(value, name)]
            assert all(pages)
            shown += len(pages)
    assert shown >= 5


def test_there_is_one() -> None:
    assert NOTEBOOKS
