"""Parent of a process that plays traffic: its requests and the replies to it; the process ends with it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any


class Parent:
    """Standard input in an event loop; without him there is nobody to play for."""

    def ready(self, events: int) -> None:
        """He has gone, or says something for which there is no use."""
        del events
        if not os.read(sys.stdin.fileno(), 1):
            sys.exit(1)


def say(line: Mapping[str, Any]) -> None:
    """One line of JSON to him."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def asked() -> dict[str, Any]:
    """The line of JSON he began with; not through a buffer, so that what comes after stays for the loop."""
    parts: list[bytes] = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = os.read(sys.stdin.fileno(), 1 << 20)
        if not part:
            sys.exit(1)
        parts.append(part)
    request: dict[str, Any] = json.loads(b"".join(parts))
    return request
