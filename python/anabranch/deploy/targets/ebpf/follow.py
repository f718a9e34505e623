"""`apply --follow`: members whose link dies, or whose gateway falls silent, are masked, and come back with it."""

from __future__ import annotations

import select
from collections.abc import Mapping
from dataclasses import replace

from rich.console import Console

from anabranch.deploy.netlink.announcements import Announcements
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.gateways import AGAIN_S, GatewayWatch
from anabranch.deploy.netlink.link_monitor import LinkEvent, LinkMonitor
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.service.notification import report_ready
from anabranch.deploy.targets.ebpf import desired, plan_file, unrouted
from anabranch.deploy.targets.ebpf.change import put
from anabranch.deploy.targets.ebpf.datapath import ChangedElsewhereError
from anabranch.deploy.targets.ebpf.forwarding_watch import ForwardingWatch
from anabranch.deploy.targets.ebpf.options import Options
from anabranch.deploy.targets.ebpf.plan_file import EbpfPlan
from anabranch.deploy.targets.following import link_news, report, until_interrupted
from anabranch.files.errors import AnabranchError

NEWS_MS = 1000


def _unforwarded(plan: EbpfPlan, links: Mapping[str, Device]) -> list[str]:
    """What the kernel does not forward of a plan that routes, in words."""
    if not plan.hops:
        return []
    return [*desired.not_forwarded(plan, links), *unrouted.notes(plan)]


def follow(plan: str, options: Options, console: Console) -> None:
    """Keeps the plan in force as links come and go, until it is interrupted; the datapath stays then as it is.

    Raises:
        AnabranchError: somebody else has changed the datapath; the kernel's refusal.

    """
    planned = plan_file.read_with(plan, options)
    ports = sorted({name for group in planned.groups for name in group.ports})
    watch = GatewayWatch(planned.hops)
    with (
        LinkMonitor() as monitor,
        Connection() as connection,
        Announcements(None, frozenset(), forwarding=True) as announcements,
        until_interrupted(),
    ):
        watched = {*ports, *planned.devices}
        known = {device.name: device for device in monitor.links.values()}
        watch.look(connection, known)
        _, before = put(planned, known, silent=frozenset(watch.silent))
        console.print(f"following the links of {', '.join(ports) or 'no port'}; the plan stays when this ends")
        report_ready()
        news: list[LinkEvent] = []
        waiting = select.poll()
        waiting.register(monitor, select.POLLIN)
        forwarding = ForwardingWatch(_unforwarded(planned, known))
        if watch.hops:
            waiting.register(announcements, select.POLLIN)
        while True:
            heard = waiting.poll(1000 * min(AGAIN_S, forwarding.wait_s or AGAIN_S) if watch.hops else None)
            if announcements.read():
                forwarding.heard()
            if forwarding.is_due:
                forwarding.begin()
                lost, gained = forwarding.judged(_unforwarded(planned, known))
                report([*lost, *(f"no more: {one}" for one in gained)], [], console)
            elif [descriptor for descriptor, _ in heard] == [announcements.fileno()]:
                # Routes may change thousands of times in a second.
                continue
            events = [event for event in monitor.read() if event.device.name in watched]
            links = {device.name: device for device in monitor.links.values()}
            # A device that is gone keeps its number until one of the same name appears.
            gone = (watched & {*known}) - {*links}
            known |= {name: replace(known[name], up=False, carrier=False) for name in gone} | links
            news += events
            answers = watch.look(connection, links) if watch.hops else []
            watch.ask(connection, links)
            if not news and not answers:
                continue
            present = tuple(name for name in planned.devices if name in links)
            try:
                changed, before = put(
                    replace(planned, devices=present), known, silent=frozenset(watch.silent), before=before
                )
            except ChangedElsewhereError:
                raise
            except AnabranchError:
                # A device that is being removed refuses; news of its end follows shortly.
                if not waiting.poll(NEWS_MS):
                    raise
            else:
                report([*link_news(news), *answers], changed.lines, console)
                news = []
