"""Interfaces and bridges in an Open vSwitch's database, followed as it changes (OVSDB: RFC 7047).

Messages are framed here and parsed by the standard library: the parser of the package `ovs` is written in Python where
no compiled one is at hand, takes a microsecond per character, and would hold the event loop for a large database.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.deploy.control.network import Interface
from anabranch.files.errors import AnabranchError

MESSAGE_BYTES_MAX = 16 << 20
DEPTH_MAX = 64
CHUNK_BYTES = 1 << 16
PROBE_S = 10.0
"""Silence after which the server is asked whether it lives; after as much again the connection counts as lost."""
RATE_KEY = "anabranch-rate-bps"
MONITORED = {
    "Interface": {"columns": ["name", "link_speed", "bfd_status", "external_ids"]},
    "Bridge": {"columns": ["name", "protocols"]},
}
STRUCTURE = re.compile(rb'["\\{}\[\]]')


class DatabaseError(AnabranchError):
    """The database cannot be reached, or it answers what RFC 7047 does not allow."""


class Framer:
    """Cuts a stream into JSON objects, each byte looked at once."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._seen = 0
        self._depth = 0
        self._quoted = False

    def feed(self, data: bytes) -> list[Any]:
        """The messages that are complete now.

        Raises:
            DatabaseError: what is no JSON object, or more than a message may have.

        """
        self._buffer += data
        frames, start = [], 0
        while True:
            mark = STRUCTURE.search(self._buffer, self._seen)
            if mark is None:
                self._seen = len(self._buffer)
                break
            self._seen = mark.end()
            kind = mark[0]
            if kind == b"\\":
                if self._seen == len(self._buffer):
                    # The escaped character has not arrived yet.
                    self._seen -= 1
                    break
                self._seen += 1
            elif kind == b'"':
                self._quoted = not self._quoted
            elif not self._quoted:
                self._depth += 1 if kind in b"{[" else -1
                if self._depth == 0:
                    frames.append(_parse(bytes(self._buffer[start : self._seen])))
                    start = self._seen
                elif not 0 < self._depth <= DEPTH_MAX:
                    raise DatabaseError("ovsdb: brackets that do not match, or too many; is that an OVSDB?")
        del self._buffer[:start]
        self._seen -= start
        if len(self._buffer) > MESSAGE_BYTES_MAX or (self._depth == 0 and self._buffer.strip()):
            raise DatabaseError("ovsdb: a message without beginning or end; is that an OVSDB?")
        return frames


@dataclass
class Database:
    """Rows by UUID, as last heard."""

    interfaces: dict[str, Interface] = field(default_factory=dict)
    protocols: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """(name, protocols) of each bridge; no protocols are Open vSwitch's default."""

    def take(self, updates: object) -> None:
        """Takes a table-updates object (RFC 7047 section 4.1.6).

        Raises:
            DatabaseError: it is none.

        """
        try:
            for table, rows in _mapping(updates).items():
                for uuid, row in _mapping(rows).items():
                    new = _mapping(row).get("new")
                    if table == "Interface":
                        _put(self.interfaces, uuid, _interface(new) if new else None)
                    elif table == "Bridge":
                        _put(self.protocols, uuid, (str(new["name"]), tuple(_set(new["protocols"]))) if new else None)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise DatabaseError(f"ovsdb: an update that is none ({error}); is that an OVSDB?") from None


async def follow(address: str, tls: ssl.SSLContext | None, timeout_s: float) -> AsyncIterator[Database]:
    """The database at `address` (`unix:`, `tcp:`, `ssl:`), again whenever it changes; ends by an error.

    Raises:
        DatabaseError: it cannot be reached, falls silent, or answers what it must not.

    """
    try:
        reader, writer = await asyncio.wait_for(_open(address, tls), timeout_s)
    except (OSError, asyncio.TimeoutError, ssl.SSLError) as error:
        raise DatabaseError(f"{address}: {error or 'no answer'}; is ovsdb-server there?") from None
    silence = _Silence(writer)
    try:
        framer, database = Framer(), Database()
        _send(writer, {"method": "monitor", "params": ["Open_vSwitch", None, MONITORED], "id": "monitor"})
        while True:
            data = await reader.read(CHUNK_BYTES)
            if not data:
                end = "silent; is ovsdb-server alive?" if silence.over else "closed by the other end"
                raise DatabaseError(f"{address}: {end}")
            silence.broken()
            changed = False
            for message in framer.feed(data):
                changed = _handle(message, database, writer) or changed
            if changed:
                yield database
    except (OSError, ssl.SSLError) as error:
        raise DatabaseError(f"{address}: {error}") from None
    finally:
        silence.end()
        writer.close()


class _Silence:
    """Asks a server that says nothing whether it lives, and ends the connection if it does not say so.

    No `asyncio.wait_for` around each reading: while data keep coming, that loses cancellations before Python 3.12.
    """

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.over = False
        """Whether it was too long."""
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._asked = False
        self._heard = True
        self._timer = self._loop.call_later(PROBE_S, self._look)

    def broken(self) -> None:
        """Something was said."""
        self._heard = True

    def end(self) -> None:
        """Nobody listens any more."""
        self._timer.cancel()

    def _look(self) -> None:
        if not self._heard and self._asked:
            self.over = True
            self._writer.transport.abort()
            return
        self._asked = not self._heard
        if self._asked:
            _send(self._writer, {"method": "echo", "params": [], "id": "echo"})
        self._heard = False
        self._timer = self._loop.call_later(PROBE_S, self._look)


def _handle(message: object, database: Database, writer: asyncio.StreamWriter) -> bool:
    """Acts on one message; answers whether the database changed."""
    fields = _mapping(message)
    if fields.get("id") == "monitor":
        if fields.get("error") is not None:
            raise DatabaseError(f"ovsdb: monitor refused: {json.dumps(fields['error'])[:200]}")
        database.take(fields.get("result"))
        return True
    if fields.get("method") == "update":
        parameters = fields.get("params")
        if not isinstance(parameters, list) or len(parameters) != 2:
            raise DatabaseError("ovsdb: an update that is none; is that an OVSDB?")
        database.take(parameters[1])
        return True
    if fields.get("method") == "echo":
        _send(writer, {"id": fields.get("id"), "result": fields.get("params"), "error": None})
    return False


async def _open(address: str, tls: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    kind, _, rest = address.partition(":")
    if kind == "unix":
        return await asyncio.open_unix_connection(rest)
    host, _, port = rest.rpartition(":")
    if kind == "ssl":
        return await asyncio.open_connection(host.strip("[]"), int(port), ssl=tls, server_hostname="")
    return await asyncio.open_connection(host.strip("[]"), int(port))


def _send(writer: asyncio.StreamWriter, message: Mapping[str, object]) -> None:
    writer.write(json.dumps(message).encode())


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatabaseError(f"ovsdb: not JSON: {error}; is that an OVSDB?") from None


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise DatabaseError(f"ovsdb: {str(value)[:100]}: not an object; is that an OVSDB?")
    return value


def _put(rows: dict[str, Any], uuid: str, row: object) -> None:
    if row is None:
        rows.pop(uuid, None)
    else:
        rows[uuid] = row


def _interface(row: Mapping[str, Any]) -> Interface:
    speeds = _set(row["link_speed"])
    bfd, ids = _map(row["bfd_status"]), _map(row["external_ids"])
    rate = str(ids.get(RATE_KEY, ""))
    return Interface(
        name=str(row["name"]),
        link_speed_bps=_speed_bps(speeds[0]) if speeds else 0,
        rate_bps=int(rate) if rate.isascii() and rate.isdigit() and len(rate) < 19 else 0,
        # RFC 5880 section 6.8.16: an end that was shut down on purpose says nothing about the path.
        bfd_down=bfd.get("forwarding") == "false" and bfd.get("remote_state") != "admin_down",
    )


def _set(value: Any) -> list[Any]:
    """A set of RFC 7047 section 5.1: written as its only element, or as `["set", [...]]`."""
    return list(value[1]) if isinstance(value, list) and value[0] == "set" else [value]


def _map(value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or value[0] != "map":
        raise ValueError("no map")
    return {str(key): item for key, item in value[1]}


def _speed_bps(value: object) -> int:
    # RFC 7047's integers are of 64 bits; JSON's numbers may be anything, infinite even.
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError(f"{str(value)[:20]}: no speed")
    return value
