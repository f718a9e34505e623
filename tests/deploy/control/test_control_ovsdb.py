"""OVSDB as it comes off the wire."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.deploy.control.network import Interface
from anabranch.deploy.targets.ovs.session.database import Database, DatabaseError, Framer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=5), st.data())
def test_messages_come_out_however_they_are_cut(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    separator = data.draw(st.sampled_from([b"", b"\n", b"  "]))
    ascii_only = data.draw(st.booleans())
    stream = separator.join(json.dumps(message, ensure_ascii=ascii_only).encode() for message in messages)
    framer, found = Framer(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += framer.feed(stream[:size])
        stream = stream[size:]
    # By text, for a float may be no number and unlike itself.
    assert [json.dumps(message) for message in found] == [json.dumps(message) for message in messages]


@given(st.binary(max_size=200))
def test_garbage_is_an_error_or_nothing(garbage: bytes) -> None:
    with suppress(DatabaseError):
        for message in Framer().feed(garbage):
            Database().take(message)


@given(JSON)
def test_any_json_is_an_update_or_an_error(value: object) -> None:
    row = {"name": value, "link_speed": value, "bfd_status": ["map", value], "external_ids": value}
    rows = ({"a": value}, {"a": {"new": value}}, {"a": {"new": row}})
    for update in (value, {"Interface": value}, *({"Interface": table} for table in rows)):
        with suppress(DatabaseError):
            Database().take(update)


def test_brackets_without_end_are_refused() -> None:
    with pytest.raises(DatabaseError, match="brackets"):
        Framer().feed(b"[" * 100)
    with pytest.raises(DatabaseError, match="without beginning or end"):
        Framer().feed(b"HTTP/1.1 400 Bad Request")


def test_rows() -> None:
    database = Database()
    row = {
        "name": "leaf0-spine0",
        "link_speed": 10**10,
        "bfd_status": ["map", [["forwarding", "false"], ["state", "down"]]],
        "external_ids": ["map", [["anabranch-rate-bps", "1000"]]],
    }
    database.take(
        {"Interface": {"u1": {"new": row}}, "Bridge": {"u2": {"new": {"name": "b", "protocols": "OpenFlow13"}}}}
    )
    assert list(database.interfaces.values()) == [Interface("leaf0-spine0", 10**10, 1000, bfd_down=True)]
    assert database.protocols == {"u2": ("b", ("OpenFlow13",))}
    empty = {
        **row,
        "link_speed": ["set", []],
        "bfd_status": ["map", []],
        "external_ids": ["map", [["anabranch-rate-bps", "x"]]],
    }
    database.take({"Interface": {"u1": {"old": {}, "new": empty}}})
    assert list(database.interfaces.values()) == [Interface("leaf0-spine0")]
    database.take({"Interface": {"u1": {"old": row}}})
    assert not database.interfaces
