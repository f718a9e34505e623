"""Entries as P4Runtime writes them (P4Runtime 1.3, section 12), checked against the program's P4Info."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from anabranch.deploy.targets.p4.switches import Entry
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install

P4INFO = Path(__file__).parent / "turns.p4info.txtpb"


def write_request(switch: str, entries: Sequence[Entry]) -> str:
    """A `p4.v1.WriteRequest` as text, without device and election, which the client that sends it fills in.

    Args:
        switch: its name, for errors.
        entries: to insert, in this order.

    Raises:
        AnabranchError: a table has too many entries, a value does not fit its field, or a package is missing.

    """
    finsy = _finsy()
    schema = _schema()
    for table in schema.tables:
        count = sum(entry.table == table.alias for entry in entries)
        if count > table.size:
            raise AnabranchError(f"{switch}: {count} entries for {table.alias}: the program has room for {table.size}")
    updates = [
        +finsy.P4TableEntry(
            entry.table,
            match=finsy.P4TableMatch({key: _value(value) for key, value in entry.match}),
            action=finsy.P4TableAction(entry.action, **dict(entry.parameters)),
        )
        for entry in entries
    ]
    from finsy.p4entity import encode_updates
    from finsy.proto import p4r
    from google.protobuf import text_format

    try:
        text: str = text_format.MessageToString(p4r.WriteRequest(updates=encode_updates(updates, schema)))
    except ValueError as error:
        raise AnabranchError(f"{switch}: {error}") from None
    return text


def _value(value: int | IPv4Network) -> int | str:
    return value if isinstance(value, int) else str(value)


@cache
def _schema() -> Any:
    return _finsy().P4Schema(P4INFO)


def _finsy() -> Any:
    try:
        import finsy
    except ImportError as error:
        raise AnabranchError(f"{error.name}: missing; {install('p4')}") from None
    return finsy
