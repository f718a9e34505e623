"""`apply --follow`: paths whose link or gateway dies are left out, and come back with it, for as long as this runs."""

from __future__ import annotations

import select

from rich.console import Console

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.announcements import Announcements
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.gateways import GatewayWatch, Retry
from anabranch.deploy.netlink.link_monitor import LinkMonitor
from anabranch.deploy.service.notification import report_ready
from anabranch.deploy.targets.following import link_news, report, until_interrupted
from anabranch.deploy.targets.linux import buckets, change, plan_file
from anabranch.deploy.targets.linux.desired import desired
from anabranch.deploy.targets.linux.observe import PROTOCOL, Observed, read
from anabranch.deploy.targets.linux.plan_file import LinuxPlan
from anabranch.files.errors import AnabranchError


def follow(plan: str, options: None, console: Console) -> None:
    """Keeps the plan in force until it is interrupted; the kernel stays then as it is.

    It acts when the kernel announces a link, a gateway that stops answering, or a change of what is the plan's.
    """
    del options
    planned = plan_file.FORM.read(plan)
    watch = GatewayWatch(hop for one in planned.groups for hop in one.hops)
    names = sorted({hop.device for one in planned.groups for hop in one.hops})
    with (
        Connection() as connection,
        LinkMonitor() as monitor,
        Announcements(PROTOCOL, watch.addresses) as announcements,
    ):
        retry = Retry()
        follower = _Follower(planned, connection, watch, kernel.weight_max(connection))
        waiting = select.poll()
        for source in (monitor, announcements):
            waiting.register(source, select.POLLIN)
        with until_interrupted():
            console.print(f"following {', '.join(names)}; the plan stays when this ends", soft_wrap=True)
            report_ready()
            while True:
                events = [event for event in monitor.read() if event.device.name in names]
                is_due = retry.due()
                if is_due:
                    watch.ask(connection, follower.devices)
                if announcements.read() or events or is_due:
                    report(*follower.act(link_news(events), monitor), console)
                waiting.poll(1e3 * retry.wait_s if follower.waits else None)


class _Follower:
    """A plan and what the kernel holds of it."""

    def __init__(self, plan: LinuxPlan, connection: Connection, watch: GatewayWatch, weight_max: int) -> None:
        self._plan, self._connection, self._watch, self._weight_max = plan, connection, watch, weight_max
        self._refusal = ""
        self.devices = {device.name: device for device in kernel.devices(connection)}

    @property
    def waits(self) -> bool:
        """Whether something may become possible without an announcement."""
        return bool(self._watch.silent or self._refusal)

    def act(self, news: list[str], monitor: LinkMonitor) -> tuple[list[str], list[str]]:
        """Brings the kernel to the plan as links and gateways are now; news with what it met, and the changes."""
        self.devices = {device.name: device for device in monitor.links.values()}
        news += self._watch.look(self._connection, self.devices)
        try:
            state = read(self._connection, self._plan.owner, list(self.devices.values()))
            observed = Observed(self._connection, self._plan.owner, state, self.devices)
            aimed = desired(self._plan, state, self.devices, self._weight_max, self._watch.silent)
            changed = change.change(observed, aimed.state)
            if changed:
                changed.commit()
                news += [one.note for one in buckets.waiting(observed, aimed)]
        except AnabranchError as refused:
            # A device on its way up or down refuses, and no path may be left: the next news, or a second, may help.
            if str(refused) != self._refusal:
                news.append(str(refused))
            self._refusal = str(refused)
            return news, []
        self._refusal = ""
        return news, changed.lines
