"""The controller's log: a line per event, JSON for machines or text for people, and the last events for the page.

Fields may hold what a switch said of itself. Control characters are escaped in both forms, so no switch can forge a
line or drive a terminal, and of one event of one switch so many lines a second are written and no more.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from time import monotonic
from typing import TextIO

LOGGER = logging.getLogger("anabranch.deploy.control")
# Without a handler, the standard library would print warnings on standard error.
LOGGER.addHandler(logging.NullHandler())
KEPT = 200
LINES_PER_SECOND = 20
TEXT_MAX, TRACEBACK_MAX = 500, 4000
"""Characters of one field."""
SOURCES_MAX = 1000
"""Pairs of event and switch whose lines are counted; made-up names cannot fill the memory."""

Field = str | int | float | bool | None


@dataclass(frozen=True)
class Event:
    """One thing that happened."""

    time_s: float
    """Since the epoch."""
    level: str
    """`debug`, `info`, `warning` or `error`."""
    event: str
    """Kind of event, in one word with hyphens: `port-down`, `committed`."""
    switch: str | None
    fields: Mapping[str, Field]


def log(level: int, event: str, switch: str | None = None, **fields: Field) -> None:
    """Writes one event; `level` is one of the standard library's (`logging.WARNING`)."""
    if LOGGER.isEnabledFor(level):
        known = {name: value for name, value in fields.items() if value is not None}
        LOGGER.log(level, "%s", event, extra={"switch": switch, "fields": known})


def event_of(record: logging.LogRecord) -> Event:
    """A record of any logger as an event."""
    fields: dict[str, Field] = {name: _short(value) for name, value in getattr(record, "fields", {}).items()}
    if record.exc_info and record.exc_info[1] is not None:
        fields["exception"] = _short(f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}")
        fields["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))[-TRACEBACK_MAX:]
    message = _short(record.getMessage())
    return Event(record.created, record.levelname.lower(), str(message), getattr(record, "switch", None), fields)


def as_json(event: Event) -> str:
    """One line of JSON in ASCII: `time`, `level`, `event`, `switch` where there is one, then the fields."""
    line: dict[str, object] = {"time": _time(event), "level": event.level, "event": event.event}
    if event.switch is not None:
        line["switch"] = _short(event.switch)
    # A field must not replace one of the first keys, even under the same name.
    return json.dumps({**event.fields, **line} if event.fields.keys() & line.keys() else {**line, **event.fields})


def as_text(event: Event) -> str:
    """One line for people."""
    words = [_time(event)[11:23], f"{event.level:<7}", _plain(event.switch or "-").ljust(10), _plain(event.event)]
    words += [f"{name}={_quoted(value)}" for name, value in event.fields.items()]
    return " ".join(words)


class RecentEvents(logging.Handler):
    """Keeps the last events."""

    def __init__(self, kept: int = KEPT) -> None:
        super().__init__(logging.INFO)
        self.events: deque[Event] = deque(maxlen=kept)

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps one."""
        self.events.append(event_of(record))


class AtMostSoMany(logging.Filter):
    """Lets `LINES_PER_SECOND` lines of one event and switch through; the next one after says how many were not."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seconds: dict[tuple[str, str], list[int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written."""
        source = (record.getMessage(), str(getattr(record, "switch", None)))
        if source not in self._seconds and len(self._seconds) >= SOURCES_MAX:
            self._seconds.clear()
        now = int(self._clock())
        second = self._seconds.setdefault(source, [now, 0])
        if second[0] != now:
            if second[1] > LINES_PER_SECOND:
                record.fields = {**getattr(record, "fields", {}), "left_out": second[1] - LINES_PER_SECOND}
            second[:] = [now, 0]
        second[1] += 1
        return second[1] <= LINES_PER_SECOND


class _Line(logging.Formatter):
    def __init__(self, write: Callable[[Event], str]) -> None:
        super().__init__()
        self._write = write

    def format(self, record: logging.LogRecord) -> str:
        return self._write(event_of(record))


def start_log(stream: TextIO | None = None, level: int = logging.INFO) -> RecentEvents:
    """Sends events to `stream`, standard error if none is given: text to a terminal, JSON to anything else.

    Warnings of libraries go the same way. Calling it again replaces what was set up before.
    """
    out = stream or sys.stderr
    recent, ours, libraries = RecentEvents(), logging.StreamHandler(out), logging.StreamHandler(out)
    for lines in (ours, libraries):
        lines.setFormatter(_Line(as_text if out.isatty() else as_json))
    # The filter comes before the handlers, so that a flood stays out of the recent events too.
    LOGGER.filters[:] = [AtMostSoMany()]
    libraries.addFilter(AtMostSoMany())
    LOGGER.setLevel(level)
    LOGGER.propagate = False
    LOGGER.handlers[:] = [recent, ours]
    logging.getLogger().handlers[:] = [libraries]
    return recent


def _time(event: Event) -> str:
    moment = datetime.fromtimestamp(event.time_s, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _short(value: Field) -> Field:
    # JSON has no word for infinity.
    if isinstance(value, bool | int) or value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = str(value)
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}..."


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _quoted(value: Field) -> str:
    text = _plain(str(value))
    return f'"{text}"' if " " in text or not text else text
