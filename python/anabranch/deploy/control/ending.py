"""How tasks are ended."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

AGAIN_S = 1.0


async def end(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until they have ended, whatever they end by.

    Once is not always enough: before Python 3.12 `asyncio.wait_for` loses a cancellation that comes together with what
    it waits for, and a task that serves for ever goes on (https://github.com/python/cpython/issues/86296).
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)
