"""Tasks end before what they use is closed, even if whoever ends them is cancelled."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress

import pytest

from anabranch.deploy.control.ending import end


def test_a_task_that_loses_a_cancellation_ends_before_what_it_uses_is_closed() -> None:
    events: list[str] = []

    async def serve() -> None:
        # A cancellation is lost as `asyncio.wait_for` loses it.
        with suppress(asyncio.CancelledError):
            events.append("began")
            await asyncio.Event().wait()
        events.append("went on")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ended")

    async def attend() -> None:
        with ExitStack() as stack:
            stack.callback(events.append, "closed")
            served = asyncio.create_task(serve())
            try:
                await asyncio.Event().wait()
            finally:
                await end([served])

    async def run() -> None:
        attended = asyncio.create_task(attend())
        for moment in ("began", "went on"):
            while moment not in events:
                await asyncio.sleep(0)
            attended.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attended

    asyncio.run(run())
    assert events == ["began", "went on", "ended", "closed"]
