"""How tasks and calls are ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, TypeVar

AGAIN_S = 1.0
Result = TypeVar("Result")


async def end(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until they have ended, whatever they end by, even if it is cancelled itself.

    Once is not always enough: before Python 3.12 `asyncio.wait_for` loses a cancellation that comes together with what
    it waits for, and a task that serves for ever goes on (https://github.com/python/cpython/issues/86296). A caller
    that another `end` cancels again meanwhile would close what such a task still uses.
    """
    pending = set(tasks)
    is_cancelled = False
    while pending:
        for task in pending:
            task.cancel()
        try:
            _, pending = await asyncio.wait(pending, timeout=AGAIN_S)
        except asyncio.CancelledError:
            is_cancelled = True
            pending = {task for task in pending if not task.done()}
    for task in tasks:
        if not task.cancelled():
            # Nobody asks for it, and asyncio would report it as lost.
            task.exception()
    if is_cancelled:
        raise asyncio.CancelledError


async def to_the_end(call: Callable[..., Result], *given: object) -> Result:
    """Has a thread call something, and waits for the end of the call even if it is cancelled.

    The call may use sockets that are closed after that, and a change of a kernel must not stop halfway.
    """
    running = asyncio.ensure_future(asyncio.to_thread(call, *given))
    try:
        return await asyncio.shield(running)
    finally:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        if not running.cancelled():
            # A caller that was cancelled does not ask for it, and asyncio would report it as lost.
            running.exception()
