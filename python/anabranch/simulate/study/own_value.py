"""Values of axes that name a scheme of one's own in place of a load balancer."""

from __future__ import annotations

from pathlib import Path

from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_value
from anabranch.simulate.own.named import Own, is_own, read_own
from anabranch.simulate.own.override import BALANCE, UNDERNEATH
from anabranch.simulate.runs.literal import literal


def replaced(file: str, axis: str, overrides: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], Own | None]:
    """Overrides of an axis' value without the scheme of one's own that they name, and that scheme.

    Raises:
        AnabranchError: there is no such scheme, or it cannot be used; the message names file, key and value.

    """
    own = None
    changed = []
    for key, written in overrides:
        value = parse_value(written, f"{file}: axes.{axis}") if key == BALANCE else None
        if isinstance(value, str) and is_own(value):
            try:
                own = read_own(value, Path(file).parent)
            except AnabranchError as error:
                raise AnabranchError(f"{file}: axes.{axis}: {error}") from error
            changed.append((key, literal(UNDERNEATH)))
        else:
            changed.append((key, written))
    return changed, own
