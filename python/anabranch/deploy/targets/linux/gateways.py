"""Gateways that do not answer although their link is up: neighbours whose resolution fails (`net/core/neighbour.c`)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.kernel import NUD_FAILED, NUD_INCOMPLETE
from anabranch.deploy.netlink.nexthop import Device, Hop

ANSWER_S, POLL_S = 0.5, 0.01
"""Time that a gateway has for its answer, and between two looks at it."""


def silent(connection: Connection, hops: Iterable[Hop], devices: Mapping[str, Device]) -> set[Hop]:
    """The ways whose gateway does not answer now.

    A neighbour that failed is asked once more: the kernel itself asks again only when a packet comes, and a path that
    is left out gets none. One that was never asked counts as alive.
    """
    keys = {
        hop: (devices[hop.device].index, hop.gateway)
        for hop in hops
        if hop.gateway is not None and hop.device in devices
    }
    states = kernel.neighbours(connection)
    suspects = {hop for hop, key in keys.items() if states.get(key, 0) & (NUD_FAILED | NUD_INCOMPLETE)}
    for hop in suspects:
        if hop.gateway is not None and states[keys[hop]] & NUD_FAILED:
            kernel.ask_neighbour(connection, devices[hop.device], hop.gateway)
    until = time.monotonic() + ANSWER_S
    while suspects:
        states = kernel.neighbours(connection)
        suspects = {hop for hop in suspects if states.get(keys[hop], 0) & (NUD_FAILED | NUD_INCOMPLETE)}
        if time.monotonic() > until:
            break
        time.sleep(POLL_S)
    return suspects
