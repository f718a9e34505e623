"""One question to a daemon of Open vSwitch over JSON-RPC, with a limit: the library's own call has none."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any

ANSWERS = (2, 3)
"""Types of messages in `ovs.jsonrpc`: reply and error; the other end may ask something meanwhile."""


def ask(connection: Any, method: str, parameters: Sequence[Any], timeout_ms: int) -> tuple[int, Any]:
    """Asks over a stream of the package `ovs`, and closes it.

    Returns:
        The number of an error (0: none; negative: the other end has closed), and the reply.

    """
    from ovs import jsonrpc, poller, timeval

    session, reply = jsonrpc.Connection(connection), None
    deadline_ms = timeval.msec() + timeout_ms
    try:
        failed = session.send(jsonrpc.Message.create_request(method, list(parameters)))
        while not failed and (reply is None or reply.type not in ANSWERS):
            failed, reply = session.recv()
            if failed == errno.EAGAIN:
                failed = 0 if timeval.msec() < deadline_ms else errno.ETIMEDOUT
                session.run()
                waiting = poller.Poller()
                session.wait(waiting)
                session.recv_wait(waiting)
                waiting.timer_wait_until(deadline_ms)
                waiting.block()
    finally:
        session.close()
    return failed, reply
