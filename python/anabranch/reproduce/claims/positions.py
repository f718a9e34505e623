"""Lines of tables and keys in a TOML file, which Python's reader does not keep."""

from __future__ import annotations

import re


def entry_line(text: str, table: str, number: int) -> int:
    """Line of the `number`-th `[[table]]`, from 1; 1 if there is none, as where the list stands in one line."""
    headers = [
        line for line, words in enumerate(text.splitlines(), start=1) if re.match(rf"\s*\[\[\s*{table}\s*\]\]", words)
    ]
    return headers[number - 1] if number <= len(headers) else 1


def key_line(text: str, start: int, key: str) -> int:
    """Line of a key in the table whose header is in line `start` (0: before any header); `start` if not there."""
    for line, words in enumerate(text.splitlines()[start:], start=start + 1):
        if re.match(r"\s*\[\[?\s*[\w\"]", words) and words.rstrip().endswith("]"):
            break
        if re.match(rf"\s*\"?{re.escape(key)}\"?\s*[=.]", words):
            return line
    return max(start, 1)
