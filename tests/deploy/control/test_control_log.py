"""The controller's log: every line parses, whatever a switch calls itself, and no switch fills the disk."""

from __future__ import annotations

import io
import json
import logging
import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.deploy.control import log as log_module
from anabranch.deploy.control.log import LINES_PER_SECOND, AtMostSoMany, Event, as_json, as_text, log, start_log


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    logger, root = log_module.LOGGER, logging.getLogger()
    before = (logger.handlers[:], logger.filters[:], logger.level, logger.propagate, root.handlers[:])
    yield
    logger.handlers[:], logger.filters[:] = before[0], before[1]
    logger.setLevel(before[2])
    logger.propagate = before[3]
    root.handlers[:] = before[4]


class Terminal(io.StringIO):
    """A terminal as far as the log asks."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_an_event_is_one_line_of_json_and_is_kept() -> None:
    out = io.StringIO()
    recent = start_log(out)
    log(logging.WARNING, "port-down", "leaf0", port="spine1", number=3, gone=None)
    line = json.loads(out.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {"level": "warning", "event": "port-down", "switch": "leaf0", "port": "spine1", "number": 3}
    (kept,) = recent.events
    assert (kept.event, kept.switch, kept.fields) == ("port-down", "leaf0", {"port": "spine1", "number": 3})


def test_a_terminal_gets_text() -> None:
    out = Terminal()
    start_log(out)
    log(logging.INFO, "committed", "leaf0", mods=3, why="port leaf0-spine1 down")
    assert out.getvalue().split(maxsplit=1)[1] == 'info    leaf0      committed mods=3 why="port leaf0-spine1 down"\n'


def test_libraries_write_the_same_lines() -> None:
    out = io.StringIO()
    start_log(out)
    try:
        raise RuntimeError("odd")
    except RuntimeError:
        logging.getLogger("asyncio").exception("Task exception was never retrieved")
    line = json.loads(out.getvalue())
    assert line["exception"] == "RuntimeError: odd"
    assert "test_control_log.py" in line["traceback"]


@given(
    st.text(),
    st.none() | st.text(),
    st.dictionaries(st.text("abc", min_size=1), st.none() | st.booleans() | st.integers() | st.floats() | st.text()),
)
def test_nothing_said_breaks_out_of_its_line(
    event: str, switch: str | None, fields: dict[str, str | int | float | bool | None]
) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "%s", (event,), None)
    record.switch, record.fields = switch, fields
    made = log_module.event_of(record)
    line = json.loads(as_json(made), parse_constant=pytest.fail)
    assert line["event"] == made.event
    assert as_json(made).isascii()
    assert as_json(made).isprintable()
    assert as_text(made).isprintable()


def test_what_stands_first_cannot_be_forged() -> None:
    made = Event(0.0, "info", "connected", "leaf0", {"event": "committed", "switch": "spine0", "rate": math.pi})
    line = json.loads(as_json(made))
    assert (line["event"], line["switch"], line["rate"]) == ("connected", "leaf0", math.pi)


def test_a_flood_is_cut_and_counted_and_others_are_heard() -> None:
    now = 0.0
    limit = AtMostSoMany(lambda: now)

    def written(event: str, switch: str) -> logging.LogRecord | None:
        record = logging.LogRecord("x", logging.INFO, "", 0, "%s", (event,), None)
        record.switch = switch
        return record if limit.filter(record) else None

    assert sum(written("garbage", "leaf0") is not None for _ in range(1000)) == LINES_PER_SECOND
    assert written("port-down", "leaf0") is not None
    assert written("garbage", "leaf1") is not None
    now = 1.5
    first = written("garbage", "leaf0")
    assert first is not None
    assert vars(first)["fields"] == {"left_out": 1000 - LINES_PER_SECOND}
    assert sum(written("made-up", str(number)) is not None for number in range(5000)) == 5000
    assert len(limit._seconds) <= log_module.SOURCES_MAX
