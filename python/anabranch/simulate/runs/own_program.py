"""Runs a scenario in a process of a crate's program."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from anabranch._core import Progress, Scenario
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.own.program import Program
from anabranch.simulate.runs.execute import WATCH_SECONDS, Executed
from anabranch.simulate.runs.program_run import read_run

SCENARIO = "scenario.toml"


def execute_program(program: Program, scenario: Scenario, progress: Progress, copies: Mapping[str, str]) -> Executed:
    """Runs a scenario in a process of the program; `copies` are the files that it names, by digest.

    Raises:
        AnabranchError: the scenario has `[replay]`, or the program has failed; the message has its own words.

    """
    if "replay" in parse_toml(scenario.resolved_toml(), scenario.name):
        problem = "a program of its own does not state the error of a replay"
        raise AnabranchError(f"{program.text}: {problem}; leave out `[replay]`")
    started_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(prefix="anabranch-cell-") as scratch:
        folder = Path(scratch)
        (folder / SCENARIO).write_text(scenario.resolved_toml(), encoding="utf-8")
        named = [f"{digest}={path}" for digest, path in copies.items()]
        begun = time.perf_counter()
        with (folder / "stderr").open("w+", encoding="utf-8") as stderr:
            process = subprocess.Popen(
                [program.path, "--cell", scratch, *named], stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr
            )
            status, usage = _wait(process, progress)
            wall_s = time.perf_counter() - begun
            stderr.seek(0)
            stderr_text = stderr.read().strip()
        if status != 0:
            raise AnabranchError(f"{program.text}: {_reason(program, status, stderr_text)}")
        run = read_run(folder)
    rss = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024
    return Executed(run, started_at, wall_s, usage.ru_utime + usage.ru_stime, rss)


def _wait(process: subprocess.Popen[bytes], progress: Progress) -> tuple[int, Any]:
    """Waits for a process, and ends it if the run is cancelled; its exit status and what it used."""
    while True:
        try:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        except BaseException:
            process.kill()
            raise
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            if progress.cancelled:
                raise KeyboardInterrupt("the run was cancelled")
            return process.returncode, usage
        if progress.cancelled:
            process.kill()
        time.sleep(WATCH_SECONDS / 10)


def _reason(program: Program, status: int, stderr_text: str) -> str:
    lines = [line for line in stderr_text.splitlines() if line]
    prefix = f"{program.name}: error: "
    if lines and lines[-1].startswith(prefix):
        return lines[-1].removeprefix(prefix)
    panic = next((line for line in lines if "panicked at" in line), None)
    what = " ".join(lines[lines.index(panic) :][:2]) if panic is not None else " ".join(lines[-1:])
    ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"{program.path} {ended}{': ' + what if what else ''}"
