"""Schemes of one's own among keys that change a scenario: they stand where a load balancer's name would."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anabranch.errors import AnabranchError
from anabranch.own.named import Own, is_own, read_own

BALANCE = "routing.balance"
"""Key of a scenario that names its load balancer."""
UNDERNEATH = "ecmp"
"""Load balancer whose granularity and table a scheme of one's own works with, unless keys beside it say otherwise."""


def taken_out(overrides: Iterable[tuple[str, str]], folder: Path) -> tuple[list[tuple[str, str]], Own | None]:
    """Overrides without the scheme of one's own that they name, and that scheme; files are relative to `folder`.

    Raises:
        AnabranchError: there is no such scheme, or it cannot be used.

    """
    own, changed = None, []
    for key, value in overrides:
        text = value.strip().strip("\"'")
        if key == BALANCE and is_own(text):
            try:
                own = read_own(text, folder)
            except AnabranchError as error:
                raise AnabranchError(f"-o {key}={error}") from error
            changed.append((key, UNDERNEATH))
        else:
            changed.append((key, value))
    return changed, own
