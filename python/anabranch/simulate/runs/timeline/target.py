"""Files that a trace can be written to."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install


def check_target(path: str | Path) -> None:
    """Refuses a file to which no trace can be written, before anything runs.

    Raises:
        AnabranchError: its directory is missing, it is stdout, or the classes of perfetto are not installed.

    """
    if str(path) == "-":
        raise AnabranchError("trace: -: a trace is binary, and not for stdout; hint: give a file such as run.pftrace")
    if not Path(path).parent.is_dir():
        raise AnabranchError(f"{path}: there is no directory {Path(path).parent}; hint: make it first")
    if find_spec("perfetto") is None:
        raise AnabranchError(f"trace: perfetto is not installed; hint: {install('trace')}")
