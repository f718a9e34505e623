"""Values of axes that a table of a study names, as in `{ traffic.load = [0.4], fabric = ["whole"] }`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest


def named_labels(where: str, table: Mapping[str, Any], known: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Labels by axis; `known` has those that there are, and `where` is the table's place in the file, for errors.

    Raises:
        AnabranchError: the study does not have an axis or a value.

    """
    named = dict(_lists(where, table, ""))
    for axis, labels in named.items():
        if axis not in known:
            raise AnabranchError(f"{where}.{axis}: no such axis; {nearest(axis, list(known))}")
        for one in labels:
            if one not in known[axis]:
                values = ", ".join(map(str, known[axis]))
                raise AnabranchError(f"{where}.{axis}: {one}: no value of the axis; it has {values}")
    return named


def _lists(where: str, table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, list[Any]]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _lists(where, value, f"{name}.")
        elif isinstance(value, list) and value:
            yield name, value
        else:
            raise AnabranchError(f"{where}.{name}: {value}: give a list of the axis' values")
