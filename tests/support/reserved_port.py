"""A port for a server of a test's that nobody else gets before the server does, or while it is away."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A TCP port of 127.0.0.1 for whoever asks for it by its number.

    A socket is bound to it that does not listen and shares. A server that shares too (`SO_REUSEADDR`, as asyncio and
    Open vSwitch set it) may listen there; the kernel gives the port neither to who asks for any nor, as its own end, to
    a connection of another test, which would keep the server out (`inet_csk_get_port`, `__inet_hash_connect`).
    """
    with socket.socket() as taken:
        # One that shares when it binds could be given a port that another one has reserved.
        taken.bind(("127.0.0.1", 0))
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield int(taken.getsockname()[1])
