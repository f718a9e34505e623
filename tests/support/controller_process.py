"""`anabranch control` as a process of its own, asked over its pages."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.waiting import DEADLINE_S, wait


class ControllerProcess:
    """One after the other on the same file, whose pages are at `port`; the log is one for all."""

    def __init__(self, file: Path, port: int, *options: str) -> None:
        self.file, self.port, self._options = file, port, options
        self.log = file.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts one."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "anabranch", "control", str(self.file), *self._options],
                stdin=subprocess.DEVNULL,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        """Process id of the one that runs."""
        assert self._process is not None
        return self._process.pid

    def signal(self, number: int) -> None:
        """Sends a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def ended(self) -> int:
        """Waits for its end, and gives its status."""
        assert self._process is not None
        status = self._process.wait(DEADLINE_S)
        self._process = None
        return status

    def get(self, path: str) -> tuple[int, Any]:
        """A page as JSON; status 0 if nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            # Nobody there, or gone in the middle of the answer.
            return 0, None
        finally:
            connection.close()

    def status(self) -> dict[str, Any]:
        """All of it, as soon as there is an answer."""
        found: dict[str, Any] = {}

        def answered() -> bool:
            found.update(self.get("/status.json")[1] or {})
            return bool(found)

        wait(answered, lambda: self.log.read_text()[-5000:])
        return found

    def healthy(self) -> bool:
        """Whether all is as planned."""
        assert self._process is None or self._process.poll() is None, self.log.read_text()[-5000:]
        return self.get("/healthz")[0] == 200

    def wait_healthy(self) -> None:
        """Waits until it is."""
        wait(self.healthy, lambda: f"{self.get('/healthz')}\n{self.log.read_text()[-5000:]}")

    def events(self) -> list[dict[str, Any]]:
        """The log so far: every line of it must be JSON, but for one that is being written."""
        return [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]


@contextmanager
def controller(file: Path, port: int, *options: str) -> Iterator[ControllerProcess]:
    """Runs one with options of the command line, and ends it."""
    made = ControllerProcess(file, port, *options)
    made.start()
    try:
        yield made
    finally:
        made.kill()
