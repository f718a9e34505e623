"""Values of axes that name a scheme of one's own in place of a load balancer."""

from __future__ import annotations

import sys
from pathlib import Path

from anabranch.errors import AnabranchError
from anabranch.own.named import Own, is_own, read_own

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BALANCE = "routing.balance"
"""Key of a scenario that names its load balancer."""
UNDERNEATH = '"ecmp"'
"""Load balancer whose granularity and table a scheme of one's own works with, unless keys beside it say otherwise."""


def replaced(file: str, axis: str, overrides: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], Own | None]:
    """Overrides of an axis' value without the scheme of one's own that they name, and that scheme.

    Raises:
        AnabranchError: there is no such scheme, or it cannot be used; the message names file, key and value.

    """
    own = None
    changed = []
    for key, literal in overrides:
        value = tomllib.loads(f"value = {literal}")["value"] if key == BALANCE else None
        if isinstance(value, str) and is_own(value):
            try:
                own = read_own(value, Path(file).parent)
            except AnabranchError as error:
                raise AnabranchError(f"{file}: axes.{axis}: {error}") from error
            changed.append((key, UNDERNEATH))
        else:
            changed.append((key, literal))
    return changed, own
