"""Frames into a dummy port, many at a time: each call takes as long as the switch takes to come round to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from anabranch.deploy.targets.ovs.daemons import OpenVSwitch

FRAMES_MAX = 100
"""Frames of one call at most: a dummy port holds no more (`NETDEV_DUMMY_MAX_QUEUE`, lib/netdev-dummy.c)."""
REST_S = 0.01


def receive(switch: OpenVSwitch, port: str, flows: Sequence[str], frame_bytes: int) -> None:
    """Has a port receive a frame of each flow."""
    words = [word for flow in flows for word in (flow, "--len", str(frame_bytes))]
    switch.appctl("netdev-dummy/receive", port, *words)


@asynccontextmanager
async def sending(
    switch: OpenVSwitch, port: str, flow: Callable[[int], str], frames_per_s: int, frame_bytes: int
) -> AsyncIterator[None]:
    """Sends all the while, frame n of the flow `flow(n)`; what a busy machine was late with is sent together."""

    async def forever() -> None:
        begun_s, sent = time.monotonic(), 0
        while True:
            due = int(frames_per_s * (time.monotonic() - begun_s)) - sent
            if due > 0:
                numbers = range(sent, sent + min(due, FRAMES_MAX))
                await asyncio.to_thread(receive, switch, port, [flow(number) for number in numbers], frame_bytes)
                sent = numbers.stop
            else:
                await asyncio.sleep(REST_S)

    task = asyncio.create_task(forever())
    try:
        yield
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
