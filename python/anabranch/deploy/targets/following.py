"""The frame of `apply --follow`: it is prompt, says what happened, and ends quietly when it is interrupted."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

from rich.console import Console
from rich.text import Text

from anabranch.deploy.netlink.link_monitor import LinkEvent
from anabranch.deploy.netlink.link_state import lives
from anabranch.deploy.targets.plan.show import STYLES
from anabranch.files.terminal.visible import one_line


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Ends the block at SIGTERM as at SIGINT, quietly; within it, news of a dead link does not wait for its turn.

    On a busy machine it would, like everything else; where it may, this goes first.
    """
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def link_news(events: Sequence[LinkEvent]) -> list[str]:
    """The last state of each link that had news, in words."""
    last = {event.device.name: event for event in events}
    return [
        f"{name} {'gone' if event.gone else 'up' if lives(event.device) else 'down'}" for name, event in last.items()
    ]


def report(news: Sequence[str], lines: Sequence[str], console: Console) -> None:
    """Prints news with the time of day, then the changes that they made necessary."""
    clock = datetime.now().astimezone().strftime("%H:%M:%S.%f")[:-3]
    for one in news:
        console.print(f"{clock} {one_line(one)}", markup=False, soft_wrap=True)
    for line in lines:
        console.print(Text(one_line(line), STYLES.get(line.partition(" ")[0], "")), soft_wrap=True)
