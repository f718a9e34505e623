"""Modules of each crate form layers: no circle of imports among those that stand beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rust_source import code, paths_of

ROOT = Path(__file__).resolve().parents[2]
CRATES = sorted(path.parent.parent for path in [*ROOT.glob("crates/*/src/lib.rs"), ROOT / "ebpf/src/lib.rs"])

CIRCLES: dict[str, dict[str, set[frozenset[str]]]] = {
    # A hook takes the frame that was read through it, to send it on: one interface in two files.
    "ebpf": {"": {frozenset({"frame", "hook", "mark", "route"})}},
    # Settings hold a load balancer, and a load balancer simulates a task, which has settings. Tables are among the load
    # balancers that settings choose from.
    "balancers": {"": {frozenset({"choice", "descriptor", "load_balancer", "tables", "task"})}},
    # `AnyKeys` enumerates the three forms, and each form is one: a closed sum.
    "form": {"": {frozenset({"form", "read", "reference", "write"})}},
    # A balancer is called with the network, and the network calls the hosts' balancer.
    "sim": {"": {frozenset({"door", "network"})}},
}
"""Circles that are known, by crate and by the module in which they stand (the root is empty), each with its reason. One
that is opened must leave this list."""

SCANNED = re.compile(r"\bmod\s+(?P<inline>\w+)\s*\{|(?P<path>\b(?:crate|super(?:\s*::\s*super)*)\s*::)|[{}]")
REEXPORT = re.compile(r"\bpub(?:\([^)]*\))?\s+use\s+(\w+)::([^;]+);")


def imported_paths(path: Path, module: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths from the crate's root that a file names, tests left out. `module` is where the file stands."""
    text = code(path.read_text())
    inline: list[str | None] = []
    for match in SCANNED.finditer(text):
        if match[0] == "}":
            inline.pop()
        elif not match["path"]:
            inline.append(match["inline"])
        elif "tests" not in inline:
            here = (*module, *(name for name in inline if name))
            up = match["path"].count("super")
            above = here[: len(here) - up] if up else ()
            yield from ((*above, *inner) for inner in paths_of(text[match.end() :]))


def module_of(path: Path, source: Path) -> tuple[str, ...]:
    """Where a file stands in its crate; the root is empty."""
    parts = path.relative_to(source).with_suffix("").parts
    return tuple(part for part in parts if part not in ("mod", "lib", "main"))


def imports(source: Path) -> dict[tuple[str, ...], dict[str, set[str]]]:
    """Modules of a crate by the module that they stand in, each with those beside it that it imports."""
    files = {path: module_of(path, source) for path in source.rglob("*.rs")}
    files = {path: module for path, module in files.items() if not {"tests", "bin"} & {*module}}
    uses: dict[tuple[str, ...], dict[str, set[str]]] = {}
    home: dict[tuple[str, ...], dict[str, str]] = {}
    for path, module in files.items():
        for depth in range(len(module)):
            uses.setdefault(module[:depth], {}).setdefault(module[depth], set())
        exported = REEXPORT.findall(code(path.read_text()))
        home[module] = {name: child for child, names in exported for name in re.findall(r"\w+", names)}
    for path, module in files.items():
        for target in imported_paths(path, module):
            for depth in range(min(len(module), len(target))):
                level, name = module[:depth], target[depth]
                beside = name if name in uses[level] else home.get(level, {}).get(name)
                if beside in uses[level] and beside != module[depth]:
                    uses[level][module[depth]].add(beside)
                if name != module[depth]:
                    break
    return uses


def circles(uses: dict[str, set[str]]) -> set[frozenset[str]]:
    """Largest sets of modules that all reach each other."""

    def reached(module: str) -> set[str]:
        found: set[str] = set()
        open_ends = [module]
        while open_ends:
            new = uses[open_ends.pop()] - found
            found |= new
            open_ends += new
        return found

    reach = {module: reached(module) for module in uses}
    return {
        frozenset(other for other in reach[module] if module in reach[other])
        for module in uses
        if module in reach[module]
    }


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.name)
def test_modules_of_a_crate_form_layers(crate: Path) -> None:
    levels = imports(crate / "src")
    root = levels[()]
    assert any(root.values()) or len(root) < 2, "the parser found no import"
    assert {"::".join(level): circles(uses) for level, uses in levels.items() if circles(uses)} == CIRCLES.get(
        crate.name, {}
    )


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("use crate::below::B;", "use crate::above::A;"),
        ("use crate::{below::B, other};", "use super::{other::O, above};"),
        ("use crate::B;", "fn f() { crate::above::a(); }"),
        ("use super::B;", "mod inner { use super::super::above::A; }"),
    ],
)
def test_a_circle_is_found(above: str, below: str, tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod above; mod below; mod other;\npub use below::{B, C};\n")
    (tmp_path / "above.rs").write_text(above)
    (tmp_path / "other.rs").write_text("pub struct O;")
    (tmp_path / "below.rs").write_text(below)
    circle = {frozenset({"above", "below"})}
    assert circles(imports(tmp_path)[()]) == circle
    # The same within a module of the crate.
    inside = tmp_path / "inside" / "folder"
    inside.mkdir(parents=True)
    for name in ("above", "other", "below"):
        text = (tmp_path / f"{name}.rs").read_text().replace("crate::", "crate::folder::")
        (inside / f"{name}.rs").write_text(text)
    (inside / "mod.rs").write_text((tmp_path / "lib.rs").read_text())
    (inside.parent / "lib.rs").write_text("mod folder;")
    assert circles(imports(inside.parent)[("folder",)]) == circle
    # Tests, comments and strings may name whom they like.
    below = '// crate::above\n#[cfg(test)] mod tests { use crate::above::A; }\nconst S: &str = "crate::above";'
    (tmp_path / "below.rs").write_text(below)
    assert circles(imports(tmp_path)[()]) == set()
