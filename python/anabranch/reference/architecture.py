"""Tables of rooms in `ARCHITECTURE.md`: crates by their manifests, Python packages by their ranks."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from anabranch.reference.markdown import code, replace_block, table
from anabranch.toml_document import parse_toml

PREFIX = "anabranch-"


def page(written: str, root: Path) -> str:
    """The page `ARCHITECTURE.md` with its tables anew, from the repository at `root`."""
    written = replace_block(written, "crates", _crates(root))
    return replace_block(written, "packages", _packages(root))


def _read(path: Path) -> dict[str, Any]:
    return parse_toml(path.read_text(encoding="utf-8"), str(path))


def _crates(root: Path) -> str:
    """Members of the workspace in their order, which is that of their ranks."""
    rows = []
    for member in _read(root / "Cargo.toml")["workspace"]["members"]:
        manifest = _read(root / member / "Cargo.toml")
        used = sorted(name for name in manifest.get("dependencies", {}) if name.startswith(PREFIX))
        names = ", ".join(code(name.removeprefix(PREFIX)) for name in used)
        rows.append((code(member), manifest["package"].get("description", ""), names or "nothing"))
    return table(("crate", "what it holds", "uses"), rows)


def _packages(root: Path) -> str:
    """Entries of the ranks, from the lowest."""
    package = root / "python" / "anabranch"
    rows = []
    for rank, names in enumerate(_read(root / "pyproject.toml")["tool"]["anabranch"]["ranks"]):
        rows += [(str(rank), code(name), _summary(package, name)) for name in names]
    return table(("rank", "package", "what it holds"), rows)


def _summary(package: Path, name: str) -> str:
    """The first line of a package's docstring."""
    path = package.joinpath(*name.split("."))
    if name == "_core":
        return "Compiled core: `crates/py`."
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            return docstring.partition("\n")[0]
    return "Modules of that name in every target's folder." if "*" in name else ""
