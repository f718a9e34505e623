"""The controller as a process: its pages beside it, and what signals ask of it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from anabranch.deploy.control import file as fabric_file
from anabranch.deploy.control.controller import Controller
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.log import RecentEvents
from anabranch.deploy.control.pages.site import Site
from anabranch.deploy.control.recording import Recorder
from anabranch.deploy.service import notification
from anabranch.files.errors import AnabranchError, unavailable


async def run(
    file: FabricFile, recent: RecentEvents, *, as_wired: bool = False, recorder: Recorder | None = None
) -> None:
    """Runs until SIGTERM or SIGINT; SIGHUP reads the file anew.

    Args:
        file: the fabric.
        recent: the last events, for the status page.
        as_wired: whether plans follow the cables that are heard instead of the file's.
        recorder: what the fabric says and what is planned is added to, if anything.

    Raises:
        UnavailableError: an address of `[listen]` cannot be listened at.

    """
    controller = Controller(file, as_wired=as_wired, recorder=recorder)
    loop = asyncio.get_running_loop()
    handlers: dict[signal.Signals, Callable[[], None]] = {
        signal.SIGTERM: controller.stop,
        signal.SIGINT: controller.stop,
        signal.SIGHUP: lambda: reread(controller),
    }
    site = Site(controller.snapshot, controller.events, lambda: list(recent.events), controller.labels)
    if file.http:
        with unavailable():
            await site.start(file.http)
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    alive = asyncio.create_task(notification.report_alive())
    notification.report_ready()
    try:
        with unavailable():
            await controller.run()
    finally:
        alive.cancel()
        for number in handlers:
            loop.remove_signal_handler(number)
        if recorder is not None:
            recorder.close()
        if file.http:
            await site.close()


def reread(controller: Controller) -> None:
    """Takes the file as it is now; one with an error is told of, and the one in force stays."""
    before = controller.file
    try:
        fabric = fabric_file.read(Path(before.file))
        if fabric.http != before.http:
            raise AnabranchError(
                f"{fabric.file}: listen.http: {fabric.http}: where pages are is read at the start only"
            )
    except AnabranchError as error:
        controller.keep(error)
        return
    controller.reload(fabric)
