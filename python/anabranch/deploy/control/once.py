"""One reconciliation, and no more: for `--once` and `--dry-run`."""

from __future__ import annotations

import asyncio
import contextlib

from anabranch.deploy.control.controller import Controller
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.state import Snapshot

GLANCE_S = 0.01


async def reconcile(
    file: FabricFile, timeout_s: float, *, commits: bool, as_wired: bool = False
) -> tuple[Snapshot, list[str]]:
    """Brings the switches to the plan, or only looks; the state after it, and what would change as lines.

    Ends when all is as planned and cables are known, when all that was reached is and the rest had `timeout_s`, or when
    a switch refuses.

    Raises:
        AnabranchError: `listen.openflow` cannot be listened at.

    """
    controller = Controller(file, commits=commits, as_wired=as_wired)
    running = asyncio.create_task(controller.run())
    try:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(_until_done(controller, running, commits), timeout_s)
        # The snapshot is taken before sessions end and forget what their switches hold.
        return controller.snapshot(), controller.differences()
    finally:
        controller.stop()
        await running


async def _until_done(controller: Controller, running: asyncio.Task[None], commits: bool) -> None:
    while not running.done():
        sessions = controller.sessions.values()
        known = all(session.change() is not None and (session.may_change or not commits) for session in sessions)
        changes = commits and any(session.change() and not session.refused for session in sessions)
        refused = any(session.refused for session in sessions)
        if known and not changes and (refused or (controller.wiring.is_settled and not controller.progress.unplanned)):
            return
        await asyncio.sleep(GLANCE_S)
