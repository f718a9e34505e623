"""The tables of a switch in the file that its key `state` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.state_file import StateForm

Table = TypeVar("Table")


class KeptTables(Generic[Table]):
    """What a file has; without a file, nothing.

    Args:
        file: empty for none.
        form: of the switch's target.

    """

    def __init__(self, file: str, form: StateForm[Table]) -> None:
        self._file, self._form = file, form
        self.by_group: dict[str, Table] = {}
        """Tables by group, those of groups that are away for now as well."""

    def read(self, *, writes: bool = True) -> None:
        """Reads the file, if there is one by now.

        Args:
            writes: whether it will be written.

        Raises:
            AnabranchError: it is no such file, or it could not be written and will be.

        """
        if self._file:
            if writes:
                state_file.check(self._file)
            self.by_group = state_file.read(self._file, self._form)

    def keep(self, now: Callable[[], Mapping[str, Table]]) -> None:
        """Writes the tables that a switch has now, if they are others; without a file, does not ask for them.

        Raises:
            AnabranchError: the file cannot be written.

        """
        if self._file:
            tables = self.by_group | dict(now())
            if tables != self.by_group:
                state_file.write(self._file, self._form, tables)
                self.by_group = tables
