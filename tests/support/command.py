"""The command line, run within the test's own process."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from anabranch.cli import main


@dataclass(frozen=True)
class Run:
    """Result of one command line."""

    returncode: int
    stdout: str
    stderr: str


def anabranch(*arguments: str, cwd: Path | None = None) -> Run:
    """Runs `anabranch ARGUMENTS`, perhaps in another folder: a process costs more than most tests of it."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["anabranch", *arguments])
        patch.setenv("COLUMNS", "100")
        if cwd is not None:
            patch.chdir(cwd)
        with pytest.raises(SystemExit) as ended:
            main()
    return Run(int(ended.value.code or 0), out.getvalue(), err.getvalue())
