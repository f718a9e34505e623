"""Cells in processes beside this one: Python runs one scheme of one's own at a time in each."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType

from anabranch.files.errors import AnabranchError
from anabranch.simulate.study.job import Job

END_TIMEOUT_S = 20


class ProcessProgress:
    """Progress of a cell in another process; the attributes are those of `Progress`."""

    def __init__(self) -> None:
        self.simulated_s = self.end_s = 0.0
        self.packet_hops = self.flows_finished = self.flows_total = 0
        self.cancelled = False
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def cancel(self) -> None:
        """Ends the cell, and its process."""
        with self._lock:
            self.cancelled = True
            if self._process is not None:
                self._process.kill()

    def of(self, process: subprocess.Popen[bytes]) -> None:
        """Says which process runs the cell.

        Raises:
            KeyboardInterrupt: it was cancelled before.

        """
        with self._lock:
            if self.cancelled:
                raise KeyboardInterrupt("the run was cancelled")
            self._process = process

    def hear(self, numbers: tuple[float, float, int, int, int]) -> None:
        """Takes over what the process has said."""
        self.simulated_s, self.end_s, self.packet_hops, self.flows_finished, self.flows_total = numbers


class CellProcesses:
    """Processes that wait for cells; one is started where all others are busy."""

    def __init__(self) -> None:
        self._idle: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> CellProcesses:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for process in self._idle:
            _end(process)

    def run(self, job: Job, progress: ProcessProgress, command: Sequence[str]) -> None:
        """Runs a cell in a process and waits for its end; the folder is written there.

        Raises:
            AnabranchError: it cannot be run; the message names the cell.

        """
        process = self._idle.pop() if self._idle else _start()
        try:
            progress.of(process)
            self._ask(process, job, progress, command)
        except BaseException as error:
            # After an error of its cell a process waits for the next one.
            if isinstance(error, AnabranchError) and process.poll() is None:
                self._idle.append(process)
            else:
                _end(process)
            raise
        self._idle.append(process)

    def _ask(
        self, process: subprocess.Popen[bytes], job: Job, progress: ProcessProgress, command: Sequence[str]
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((job, list(command)), process.stdin)
            process.stdin.flush()
            while True:
                answer = pickle.load(process.stdout)
                if answer is None:
                    return
                if isinstance(answer, AnabranchError):
                    raise answer
                progress.hear(answer)
        except (EOFError, OSError, pickle.UnpicklingError):
            if progress.cancelled:
                raise KeyboardInterrupt("the run was cancelled") from None
            raise AnabranchError(f"at {job.words}: its process {_ending(process)}") from None


def _ending(process: subprocess.Popen[bytes]) -> str:
    try:
        return f"ended with status {process.wait(END_TIMEOUT_S)}"
    except subprocess.TimeoutExpired:
        return f"has closed its output and not ended within {END_TIMEOUT_S} s"


def _start() -> subprocess.Popen[bytes]:
    """Starts a process in a session of its own: Ctrl-C reaches this one alone, which ends the others."""
    command = [sys.executable, "-m", "anabranch.simulate.study.cell_process_main"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    # What it has started may hold its output.
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=END_TIMEOUT_S)
