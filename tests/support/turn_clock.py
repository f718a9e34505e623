"""A loop whose time is its own turns: what it says does not depend on how fast or busy the machine is."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
TURN_S = 1e-3
"""Time that a turn of the loop counts for."""


class TurnClock(asyncio.SelectorEventLoop):
    """Clock for tests whose connections have both ends in this loop: when neither is busy, no other process will be.

    The time until the next timer is then over at once. Processes and threads are not waited for.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(_Turns(self))

    def time(self) -> float:
        """Seconds since it was made."""
        return self.now_s


class _Turns(selectors.DefaultSelector):
    def __init__(self, clock: TurnClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._clock.now_s += TURN_S
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("nothing is under way, and nothing will be")
        if not ready and timeout:
            self._clock.now_s += timeout
        return ready


def run_in_turns(work: Callable[[], Awaitable[T]]) -> T:
    """Runs like `asyncio.run`; anything that asyncio would only log is an error."""
    complaints: list[dict[str, object]] = []

    async def whole() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        try:
            return await work()
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    loop = TurnClock()
    try:
        result = loop.run_until_complete(whole())
    finally:
        loop.close()
    assert not complaints, complaints
    return result
