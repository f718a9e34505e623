"""Plan files of one target: the part `plan_file` of each has its own as `FORM`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from anabranch.simulate.runs.load import read_text

Plan = TypeVar("Plan")


@dataclass(frozen=True)
class PlanForm(Generic[Plan]):
    """Reader of a target's plans, and what reference pages say besides its keys."""

    heading: str
    """The target as a heading of the page."""
    about: str
    """What plans become in it, and a link to more, as half a sentence."""
    example: str
    """A plan whose reader asks for every key."""
    parse: Callable[[str, str], Plan]
    """Reads and checks the text of a file, which is the second argument."""

    def read(self, path: str | Path) -> Plan:
        """Reads and checks a plan.

        Raises:
            AnabranchError: the file, a key or a value is not as it must be; it names them, and a hint.

        """
        return self.parse(read_text(path), str(path))
