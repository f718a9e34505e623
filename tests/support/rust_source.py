"""Rust as text, for rules of the house."""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def code(source: str) -> str:
    """Source of a file without comments, strings and characters."""
    return LITERALS.sub(" ", source)


def paths_of(text: str) -> Iterator[tuple[str, ...]]:
    """Paths of a tree of imports: `a::{b::C, d}` has `a::b::C` and `a::d`."""
    if not (text := text.lstrip()).startswith("{"):
        name = re.match(r"\w+", text)
        if name:
            rest = re.match(r"\s*::(?!<)", text[name.end() :])
            deeper = list(paths_of(text[name.end() + rest.end() :])) if rest else []
            yield from ((name[0], *path) for path in deeper or [()])
        return
    depth, start = 0, 1
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if (character == "," and depth == 1) or depth == 0:
            yield from paths_of(text[start:at])
            start = at + 1
        if depth == 0:
            return
