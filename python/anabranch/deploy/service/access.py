"""What a user may read without any capability, by the bits of files' modes (path_resolution(7))."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from anabranch.files.errors import AnabranchError


@dataclass(frozen=True)
class Reader:
    """A user as the kernel sees it."""

    name: str
    """Name for people."""
    uid: int
    gids: frozenset[int]

    @classmethod
    def of(cls, name: str) -> Reader:
        """A user of this machine with all of its groups.

        Raises:
            AnabranchError: there is none of this name.

        """
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            raise AnabranchError(f"user: {name}: no such user; `getent passwd` lists them") from None
        return cls(name, user.pw_uid, frozenset(os.getgrouplist(name, user.pw_gid)))

    def refused_at(self, path: Path, *, writes: bool = False) -> Path | None:
        """The file or folder on the way to a path that this user may not read (or write) or pass; None for none.

        Raises:
            OSError: there is no such file.

        """
        real = path.resolve(strict=True)
        for folder in reversed(real.parents):
            if not self._may(folder.stat(), stat.S_IXOTH):
                return folder
        needed = (stat.S_IWOTH if writes else stat.S_IROTH) | (stat.S_IXOTH if real.is_dir() else 0)
        return None if self._may(real.stat(), needed) else real

    def _may(self, status: os.stat_result, bits: int) -> bool:
        shift = 6 if status.st_uid == self.uid else 3 if status.st_gid in self.gids else 0
        return status.st_mode >> shift & bits == bits


ANYBODY = Reader("a user of its own (DynamicUser)", -1, frozenset())
"""A user that owns nothing and is in no group of others."""
