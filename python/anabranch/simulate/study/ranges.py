"""Numbers of an axis and seeds as people write them on a command line: lists and ranges."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from anabranch.files.errors import AnabranchError

VALUES_MAX = 10_000
"""Largest number of values that a range may stand for."""


def parse_numbers(text: str, option: str) -> list[float]:
    """Parses `0.3,0.6`, `30%,60%` or `FIRST:LAST:STEP`, whose last value is part of it; decimals stay exact.

    Raises:
        AnabranchError: it has another form; the message begins with `option`.

    """
    hint = "give numbers as in 0.3,0.6 or 30%,60%, or FIRST:LAST:STEP as in 0.2:0.9:0.1"
    values: list[float] = []
    for part in text.split(","):
        try:
            ends = [_decimal(end.strip()) for end in part.split(":")]
        except InvalidOperation:
            raise AnabranchError(f"{option}: {part}: no number; {hint}") from None
        if not all(end.is_finite() for end in ends):
            raise AnabranchError(f"{option}: {part}: not finite; {hint}")
        if len(ends) == 1:
            values.append(float(ends[0]))
            continue
        if len(ends) != 3 or ends[2] <= 0 or ends[1] < ends[0]:
            raise AnabranchError(f"{option}: {part}: no range; {hint}")
        first, last, step = ends
        count = int((last - first) / step) + 1
        if count > VALUES_MAX:
            raise AnabranchError(f"{option}: {part}: {count} values; give {VALUES_MAX} at most")
        values += [float(first + step * number) for number in range(count)]
    if len(set(values)) < len(values):
        raise AnabranchError(f"{option}: {text}: a value stands there twice; give each once")
    return values


def _decimal(text: str) -> Decimal:
    """A number, or percent of one."""
    return Decimal(text[:-1].rstrip()) / 100 if text.endswith("%") else Decimal(text)


def parse_seeds(text: str, option: str) -> list[int]:
    """Parses how many seeds, as in `10`, or which, as in `1,2,5` or `11:20`.

    Raises:
        AnabranchError: it has another form; the message begins with `option`.

    """
    if re.fullmatch(r"\d+", text) and int(text) > 0:
        return list(range(1, int(text) + 1))
    seeds: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"(\d+)(?::(\d+))?", part.strip())
        if ("," not in text and ":" not in text) or ends is None or int(ends[2] or ends[1]) < int(ends[1]):
            raise AnabranchError(f"{option}: {text}: no seeds; give how many, as in 10, or which, as in 1,2,5 or 11:20")
        seeds += range(int(ends[1]), int(ends[2] or ends[1]) + 1)
    if len(set(seeds)) < len(seeds):
        raise AnabranchError(f"{option}: {text}: one stands there twice; give each once")
    return seeds
