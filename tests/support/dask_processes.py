"""A Dask scheduler and workers as processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from support.waiting import wait


def _program(name: str) -> list[str]:
    return [sys.executable, "-m", f"distributed.cli.dask_{name}"]


@contextmanager
def _process(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=cwd, env=os.environ | environment, stdout=quiet, stderr=quiet, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Cluster:
    """A scheduler, and what was started beside it; all end with the test."""

    def __init__(self, folder: Path, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> None:
        pytest.importorskip("distributed", reason="distributed is not installed: pip install distributed")
        self._folder, self._options, self._environment = folder, options, environment or {}
        self._ends = ExitStack()
        self.address = ""

    def __enter__(self) -> Cluster:
        file = self._folder / "scheduler.json"
        host = ["--host", "127.0.0.1"] if not self._options else ["--host", "tls://127.0.0.1"]
        command = [
            *_program("scheduler"),
            *host,
            "--port",
            "0",
            "--dashboard-address",
            "127.0.0.1:0",
            "--scheduler-file",
            str(file),
        ]
        self.scheduler = self._ends.enter_context(_process([*command, *self._options], self._folder, self._environment))
        wait(lambda: self._has_address(file), lambda: "the scheduler writes no address")
        return self

    def _has_address(self, file: Path) -> bool:
        assert self.scheduler.poll() is None, "the scheduler ended"
        with suppress(OSError, ValueError):
            self.address = json.loads(file.read_text())["address"]
        return bool(self.address)

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def worker(self) -> subprocess.Popen[str]:
        """Starts one, in a folder of its own."""
        folder = self._folder / "worker"
        folder.mkdir(exist_ok=True)
        command = [
            *_program("worker"),
            self.address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--dashboard-address",
            "127.0.0.1:0",
        ]
        return self._ends.enter_context(_process([*command, *self._options], folder, self._environment))

    def sweep(
        self, where: Path, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Starts `anabranch sweep --dask` in `where`."""
        return subprocess.Popen(
            [sys.executable, "-m", "anabranch", "sweep", *arguments, "--dask", self.address],
            cwd=where,
            env=os.environ | dict(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
