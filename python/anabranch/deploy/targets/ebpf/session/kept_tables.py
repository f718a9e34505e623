"""The tables of a datapath in the file that its switch names."""

from __future__ import annotations

from anabranch import _core
from anabranch.deploy.targets.ebpf import state_file


class KeptTables:
    """What a file has; without a file, nothing.

    Args:
        file: empty for none.

    """

    def __init__(self, file: str) -> None:
        self._file = file
        self.by_group: dict[str, bytes] = {}
        """Tables by group, those of groups that are away for now as well."""

    def read(self) -> None:
        """Reads the file, if there is one by now.

        Raises:
            AnabranchError: it is no such file, or could not be written.

        """
        if self._file:
            state_file.check(self._file)
            self.by_group = state_file.read(self._file)

    def keep(self, datapath: _core.KernelDatapath) -> None:
        """Writes the tables that a datapath has now, if they are others.

        Raises:
            AnabranchError: the file cannot be written.

        """
        if self._file:
            tables = self.by_group | datapath.tables()
            if tables != self.by_group:
                state_file.write(self._file, tables)
                self.by_group = tables
