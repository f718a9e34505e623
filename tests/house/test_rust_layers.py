"""Modules of each crate form layers: no circle of imports among those that stand directly below its root."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRATES = sorted(path.parent.parent for path in [*ROOT.glob("crates/*/src/lib.rs"), ROOT / "ebpf/src/lib.rs"])

CIRCLES: dict[str, set[frozenset[str]]] = {
    # A hook takes the frame that was read through it, to send it on: one interface in two files.
    "ebpf": {frozenset({"frame", "hook", "mark"})},
    # A choice is compared with the registry's entries, an entry builds a choice, and both are simulated by one task.
    "balancers": {frozenset({"choice", "descriptor", "load_balancer", "own", "switches", "tables", "task"})},
    # `AnyKeys` enumerates the three forms, and each form is one: a closed sum.
    "form": {frozenset({"form", "read", "reference", "write"})},
    # A balancer is called with the network, and the network calls the hosts' balancer; records name both.
    "sim": {
        frozenset({"door", "network", "outcome", "port"}),
        frozenset({"settings", "transport"}),
    },
}
"""Circles that are known, by crate, each with its reason. One that is opened must leave this list."""

LITERALS = re.compile(
    r"""
    //[^\n]*                        # comments
    | /\*.*?\*/
    | r(\#*)".*?"\1                 # strings
    | "(?:\\.|[^"\\])*"
    | '(?:\\.[^']*|[^'\\])'         # characters, but no lifetimes
    """,
    re.DOTALL | re.VERBOSE,
)
SCANNED = re.compile(r"\bmod\s+(?P<inline>\w+)\s*\{|(?P<path>\b(?:crate|super(?:\s*::\s*super)*)\s*::)|[{}]")
REEXPORT = re.compile(r"\bpub(?:\([^)]*\))?\s+use\s+(\w+)::([^;]+);")


def code(path: Path) -> str:
    """Source of a file without comments, strings and characters."""
    return LITERALS.sub(" ", path.read_text())


def first_names(text: str) -> set[str]:
    """First names of what follows `crate::`: one, or those of a list in braces."""
    if not (text := text.lstrip()).startswith("{"):
        found = re.match(r"\w+", text)
        return {found[0]} if found else set()
    names, depth, start = set(), 0, True
    for token in re.findall(r"\w+|[{},]", text):
        depth += (token == "{") - (token == "}")
        if depth == 0:
            break
        if depth == 1 and start and token.isidentifier():
            names.add(token)
        start = token == "," or (token == "{" and depth == 1)
    return names


def names_from_root(path: Path, module: list[str]) -> Iterator[str]:
    """Names that a file takes from its crate's root, tests left out. `module` is where the file stands."""
    text = code(path)
    inline: list[str | None] = []
    for match in SCANNED.finditer(text):
        if match[0] == "}":
            inline.pop()
        elif not match["path"]:
            inline.append(match["inline"])
        elif "tests" not in inline:
            here = [*module, *(name for name in inline if name)]
            up = match["path"].count("super")
            if up == 0 or up == len(here):
                yield from first_names(text[match.end() :])


def imports(source: Path) -> dict[str, set[str]]:
    """Modules directly below the root of a crate, with those that each imports."""
    root = code(source / "lib.rs")
    home = {name: module for module, names in REEXPORT.findall(root) for name in re.findall(r"\w+", names)}
    modules = {path.stem for path in source.glob("*.rs")} | {path.parent.name for path in source.glob("*/mod.rs")}
    modules -= {"lib", "main"}
    uses: dict[str, set[str]] = {module: set() for module in modules}
    for path in source.rglob("*.rs"):
        inside = path.relative_to(source).with_suffix("").parts
        here = [part for part in inside if part != "mod"]
        if here[0] not in modules or "tests" in here:
            continue
        for name in names_from_root(path, here):
            module = name if name in modules else home.get(name, "lib")
            uses[here[0]] |= {module} & modules - {here[0]}
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
    uses = imports(crate / "src")
    assert any(uses.values()) or len(uses) < 2, "the parser found no import"
    assert circles(uses) == CIRCLES.get(crate.name, set()), {
        module: sorted(others) for module, others in uses.items() if others
    }


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
    assert circles(imports(tmp_path)) == {frozenset({"above", "below"})}
    # Tests, comments and strings may name whom they like.
    below = '// crate::above\n#[cfg(test)] mod tests { use crate::above::A; }\nconst S: &str = "crate::above";'
    (tmp_path / "below.rs").write_text(below)
    assert circles(imports(tmp_path)) == set()
