"""North-south traffic in a lab: UDP out of leaf 0 by one uplink each, to leaf 2, the world outside; and what it takes.

Rules of our own pin it to its uplink, in the way of no scheme's rules. A host's link has the rate that it sends at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.shaping import OVERHEAD_BYTES
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ovs.switching import open_vswitch
from anabranch.lab.traffic.paced_sender import TX_BYTES, TX_PACKETS, DeviceCounters
from anabranch.lab.traffic.play import Endpoint
from anabranch.lab.traffic.steady import Steady

from .cases import UPLINKS, Asymmetry

SOURCE, WORLD = "leaf0", "leaf2"
PRIORITY = 65000
"""Above all rules of schemes."""
SETTLE_S, MEASURED_S = 0.5, 3.0
SHORT = 0.95
"""Share of its rate that the traffic must reach: less, and the machine is too slow for it."""

Outside = dict[tuple[str, str], float]
"""Bits per second that leave a switch for a neighbour, in no slice."""


@contextmanager
def beside(lab: Lab, asymmetry: Asymmetry) -> Iterator[Outside]:
    """The north-south traffic of an asymmetry, as measured before any other begins; none where there is none.

    Raises:
        AnabranchError: a rule is refused, or the traffic breaks off.

    """
    if not any(asymmetry.outside_mbps):
        yield {}
        return
    senders = [host for host in lab.hosts.values() if host.leaf == SOURCE][-len(UPLINKS) :]
    targets = [host for host in lab.hosts.values() if host.leaf == WORLD][-len(UPLINKS) :]
    number = {neighbour: port for port, (_, neighbour) in enumerate(lab.blueprint.ports(SOURCE), start=1)}
    rules = []
    with ExitStack() as stack:
        for sender, target, spine, mbps in zip(senders, targets, UPLINKS, asymmetry.outside_mbps, strict=True):
            rules.append(f"priority={PRIORITY},ip,nw_src={sender.address},actions=output:{number[spine]}")
            lab.set_link(sender.name, SOURCE, rate_bps=mbps * 1_000_000)
            steady = Steady(Endpoint(sender.namespace, sender.address), Endpoint(target.namespace, target.address))
            stack.enter_context(steady)
        open_vswitch(lab).add_flows(SOURCE, rules)
        yield measured(lab)


def check(outside_bps: Outside, asymmetry: Asymmetry) -> None:
    """Looks whether the machine sends as much as it should.

    Raises:
        AnabranchError: it does not.

    """
    for spine, mbps in zip(UPLINKS, asymmetry.outside_mbps, strict=True):
        reached = outside_bps.get((SOURCE, spine), 0.0) / 1e6
        if reached < SHORT * mbps:
            raise AnabranchError(f"north-south traffic: {reached:.1f} of {mbps} Mb/s; leave the machine to the study")


def measured(lab: Lab) -> Outside:
    """What leaves leaf 0 by its uplinks, as their rates count it."""
    time.sleep(SETTLE_S)
    counters = DeviceCounters(lab.blueprint.switch_namespace)
    try:
        began, before = time.monotonic(), _sent(lab, counters)
        time.sleep(MEASURED_S)
        took_s, after = time.monotonic() - began, _sent(lab, counters)
    finally:
        counters.close()
    return {(SOURCE, spine): 8 * (after[spine] - before[spine]) / took_s for spine in UPLINKS}


def _sent(lab: Lab, counters: DeviceCounters) -> dict[str, int]:
    """Bytes on the wire by uplink: preamble, check and gap are counted."""
    sent, frames = counters.read(TX_BYTES), counters.read(TX_PACKETS)
    devices = {spine: lab.interface(SOURCE, spine) for spine in UPLINKS}
    return {spine: sent[device] + OVERHEAD_BYTES * frames[device] for spine, device in devices.items()}
