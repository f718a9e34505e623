"""A figure group: one folder of `studies/`, and the backend that its study file names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FILE = "study.toml"
SIMULATOR, LAB = "simulator", "lab"
BACKENDS = (SIMULATOR, LAB)
"""Backends of the engine, the simulator's by default; another name needs the study's own `code`."""


@dataclass(frozen=True)
class Group:
    """A folder of `studies/`."""

    paper: str
    name: str
    study: str
    """Name of the study in its file."""
    folder: Path
    backend: str
    """One of `BACKENDS`, or a name of the study's own."""
    code: str = ""
    """Class of the study's own backend, `FILE.py:CLASS` from its folder; empty where the engine has it."""

    @property
    def label(self) -> str:
        """Name on the command line."""
        return f"{self.paper}/{self.name}"

    @property
    def by_name_only(self) -> bool:
        """Whether it runs only if it is named itself: a lab needs root, and a machine that does nothing else."""
        return self.backend == LAB
