"""A figure group: one folder of `studies/`, and the backend that its study file names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FILE = "study.toml"
DEFAULT = "simulator"
BACKENDS = ("simulator", "splitter", "meter", "lab")
"""Names that a study file may give as `backend`; without one it is the simulator's."""


@dataclass(frozen=True)
class Group:
    """A folder of `studies/`."""

    paper: str
    name: str
    study: str
    """Name of the study in its file."""
    folder: Path
    backend: str
    """One of `BACKENDS`."""

    @property
    def label(self) -> str:
        """Name on the command line."""
        return f"{self.paper}/{self.name}"
