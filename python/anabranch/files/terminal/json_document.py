"""The JSON that verbs write in place of their tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from anabranch._core import VERSION
from anabranch.files.atomic_file import write_whole


def write_json(path: str, content: Mapping[str, Any]) -> None:
    """Writes a command and what it found into a file; `-` is stdout.

    Raises:
        AnabranchError: the file cannot be written.

    """
    head = {"command": ["anabranch", *sys.argv[1:]], "made_by": f"anabranch {VERSION}"}
    write_whole(path, json.dumps({**head, **content}, indent=2, allow_nan=False, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    """Arrays and numbers of NumPy, and paths, as JSON has them."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
