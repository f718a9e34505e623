"""`apply --follow`: members whose link dies are masked, and come back with it, for as long as this runs."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime

from rich.console import Console
from rich.text import Text

from anabranch.deploy.netlink.link_monitor import LinkEvent, LinkMonitor
from anabranch.deploy.netlink.link_state import lives
from anabranch.deploy.targets.ebpf import plan_file
from anabranch.deploy.targets.ebpf.change import put
from anabranch.deploy.targets.ebpf.datapath import ChangedElsewhereError
from anabranch.deploy.targets.ebpf.options import Options
from anabranch.deploy.targets.plan.show import STYLES
from anabranch.files.errors import AnabranchError

NEWS_MS = 1000


def follow(plan: str, options: Options, console: Console) -> None:
    """Keeps the plan in force as links come and go, until it is interrupted; the datapath stays then as it is.

    Raises:
        AnabranchError: somebody else has changed the datapath; the kernel's refusal.

    """
    planned = plan_file.read_with(plan, options)
    ports = sorted({name for group in planned.groups for name in group.ports})
    _be_prompt()
    with LinkMonitor() as monitor, _interruptible():
        watched = {*ports, *planned.devices}
        known = {device.name: device for device in monitor.links.values()}
        _, before = put(planned, known)
        console.print(f"following the links of {', '.join(ports) or 'no port'}; the plan stays when this ends")
        news: list[LinkEvent] = []
        waiting = select.poll()
        waiting.register(monitor, select.POLLIN)
        while True:
            waiting.poll()
            events = [event for event in monitor.read() if event.device.name in watched]
            links = {device.name: device for device in monitor.links.values()}
            # A device that is gone keeps its number until one of the same name appears.
            gone = (watched & {*known}) - {*links}
            known |= {name: replace(known[name], up=False, carrier=False) for name in gone} | links
            news += events
            if not news:
                continue
            present = tuple(name for name in planned.devices if name in links)
            try:
                changed, before = put(replace(planned, devices=present), known, before=before)
            except ChangedElsewhereError:
                raise
            except AnabranchError:
                # A device that is being removed refuses; news of its end follows shortly.
                if not waiting.poll(NEWS_MS):
                    raise
            else:
                _report(news, changed.lines, console)
                news = []


def _report(events: list[LinkEvent], lines: list[str], console: Console) -> None:
    clock = datetime.now().astimezone().strftime("%H:%M:%S.%f")[:-3]
    last = {event.device.name: event for event in events}
    for name, event in last.items():
        state = "gone" if event.gone else "up" if lives(event.device) else "down"
        console.print(f"{clock} {name} {state}", markup=False)
    for line in lines:
        console.print(Text(line, STYLES.get(line.partition(" ")[0], "")), soft_wrap=True)


def _be_prompt() -> None:
    """On a busy machine news of a dead link waits for its turn like everything else; where it may, this goes first."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends it as SIGINT does, quietly."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
