"""The documentation as a site: what its hooks take from the repository."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def test_files_that_pages_link_to_are_on_the_site() -> None:
    # mkdocs has an environment of its own, so the hooks' expression is read, not imported.
    source = (ROOT / "docs/site.py").read_text()
    pattern = re.search(r'^LINKED = re\.compile\(r"(.+)"\)$', source, re.MULTILINE)
    assert pattern is not None
    page = ROOT / "docs/own-scheme.md"
    linked = {(page.parent / link).resolve() for link in re.findall(pattern[1], page.read_text())}
    for name in ("examples/own/small_plb.py", "crates/balancers/tests/doors/main.rs", "examples/own/study.toml"):
        assert ROOT / name in linked
    assert all(path.exists() for path in linked)


def test_a_notebook_is_a_page_with_all_its_cells() -> None:
    tree = ast.parse((ROOT / "docs/site.py").read_text())
    (hook,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "notebook")
    names: dict[str, Any] = {"json": json, "Path": Path}
    exec(compile(ast.Module([hook], []), "docs/site.py", "exec"), names)
    file = ROOT / "docs/tutorials/notebook.ipynb"
    page = names["notebook"](file)
    cells = json.loads(file.read_text())["cells"]
    assert len(cells) > 10
    at = 0
    for cell in cells:
        text = "".join(cell["source"])
        at = page.index(text, at) + len(text)
    assert page.count("```python\n") == sum(cell["cell_type"] == "code" for cell in cells)
    assert "href='notebook.ipynb'" in page
