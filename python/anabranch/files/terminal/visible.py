"""Text from files and switches as a terminal may see it: control characters shown, endless words shortened."""

from __future__ import annotations

import re

LETTERS_MAX = 1000
"""Longest word that is shown whole: longer than any path."""
SHOWN = 60
"""Letters shown of a longer one."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters of ASCII and Latin-1 but for tab and line feed, and those that change the direction of writing."""
LONG = re.compile(rf"\S{{{LETTERS_MAX + 1},}}")


def visible(text: str) -> str:
    r"""Replaces each control character by its escape, as in `\x1b`: a name must not steer a terminal."""
    return CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def one_line(text: str) -> str:
    r"""The same with line feeds and tabs as escapes: a name must not begin a line of its own."""
    return visible(text).replace("\n", r"\n").replace("\t", r"\t")


def shortened(text: str) -> str:
    """Replaces words of more than `LETTERS_MAX` letters by their beginning and their length."""
    return LONG.sub(lambda match: f"{match[0][:SHOWN]}... ({len(match[0]):,} letters)", text)
