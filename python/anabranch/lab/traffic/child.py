"""A process of its own that plays traffic: one that is late makes nobody else late. Lines of JSON go both ways."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from anabranch.files.errors import AnabranchError

SILENCE_S = 30
"""Silence that is taken for its end; it speaks five times a second."""
END_TIMEOUT_S = 20


class Child:
    """A module of this package, run with its input and output here; `what` is what errors call it."""

    def __init__(self, module: str, what: str) -> None:
        self._what = what
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints
        )
        self._rest = b""

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes its input: it puts settings back and ends."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(END_TIMEOUT_S)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
        with self._process, self._complaints:
            pass

    def put(self, line: Mapping[str, Any]) -> None:
        """Says something.

        Raises:
            AnabranchError: it has ended.

        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def get(self, patience_ns: float | None = None) -> dict[str, Any]:
        """Waits for its next message; nothing, if it says nothing within the patience.

        Raises:
            AnabranchError: it has ended, is silent for too long, or says that it failed.

        """
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + (SILENCE_S if patience_ns is None else max(patience_ns, 0) / 1e9)
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([descriptor], [], [], max(left, 0))
            if not ready and patience_ns is not None:
                return {}
            part = self._process.stdout.read1(1 << 20) if ready else b""  # type: ignore[attr-defined]
            if not part:
                raise self._died()
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise AnabranchError(answer["error"])
        return answer

    def _died(self) -> AnabranchError:
        self._process.kill()
        status = self._process.wait(END_TIMEOUT_S)
        self._complaints.seek(0)
        last = self._complaints.read().decode(errors="replace").strip().splitlines()[-1:]
        return AnabranchError(f"{self._what}: ended with status {status}: {' '.join(last) or 'said nothing'}")
