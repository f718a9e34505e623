"""Tables of rooms in `ARCHITECTURE.md`: crates by their manifests, Python's rooms by their order."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from anabranch.cli.reference.markdown import code, replace_block, table
from anabranch.files.toml_document import parse_toml

PREFIX = "anabranch-"


def page(written: str, root: Path) -> str:
    """The page `ARCHITECTURE.md` with its tables anew, from the repository at `root`."""
    written = replace_block(written, "crates", _crates(root))
    return replace_block(written, "rooms", _python_rooms(root))


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


def _python_rooms(root: Path) -> str:
    """Rooms in their order, each with its packages and modules."""
    package = root / "python" / "anabranch"
    rows = []
    for room in _read(root / "pyproject.toml")["tool"]["anabranch"]["rooms"]:
        docstring = ast.get_docstring(ast.parse((package / room / "__init__.py").read_text(encoding="utf-8"))) or ""
        inside = sorted(path.stem for path in (package / room).iterdir() if _is_public(path))
        rows.append((code(room), docstring.partition("\n")[0], ", ".join(code(name) for name in inside)))
    return table(("room", "what it holds", "inside"), rows)


def _is_public(path: Path) -> bool:
    """Whether a path is a package, or a module that people import."""
    return (path / "__init__.py").is_file() or (path.suffix == ".py" and not path.stem.startswith("_"))
