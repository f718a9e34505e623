"""Text files of numbers in columns, by lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from anabranch.files.errors import AnabranchError

BYTES_MAX = 1 << 30
"""Largest file that is read: a flow list of 20 million flows."""


class Line(NamedTuple):
    """Line that has words, and its number, counted from one."""

    number: int
    words: list[str]


def read(path: Path) -> str:
    """Text of a file.

    Raises:
        AnabranchError: it cannot be read, is too large, or is no text.

    """
    try:
        if path.stat().st_size > BYTES_MAX:
            raise AnabranchError(f"{path}: more than 1 GiB; give a part of it")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise AnabranchError(f"{path}: {error.strerror}; give a file that can be read") from None
    except UnicodeDecodeError:
        raise AnabranchError(f"{path}: not text in UTF-8; give a text file") from None


def lines(text: str) -> Iterator[Line]:
    """Lines with words; those that begin with `#` are comments."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield Line(number, words)
