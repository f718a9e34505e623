"""Gateways that do not answer although their link is up: neighbours whose resolution fails (`net/core/neighbour.c`)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.kernel import NUD_FAILED, NUD_INCOMPLETE
from anabranch.deploy.netlink.nexthop import Address, Device, Hop

ANSWER_S, POLL_S = 0.5, 0.01
"""Time that a gateway has for its answer, and between two looks at it."""
AGAIN_S = 1.0
"""Pause before a silent gateway is asked again, or what was refused is tried again: no announcement tells of those."""


class Retry:
    """Moments at which it is due to try again what no announcement tells of."""

    def __init__(self) -> None:
        self._again_s = 0.0

    @property
    def wait_s(self) -> float:
        """Time until it is due to try again."""
        return max(0.0, self._again_s - time.monotonic())

    def due(self) -> bool:
        """Whether it is time to try again: once in `AGAIN_S` by the clock, whatever is announced meanwhile."""
        if self.wait_s:
            return False
        self._again_s = time.monotonic() + AGAIN_S
        return True


class GatewayWatch:
    """The gateways of a plan over time, by what the kernel finds out about them."""

    def __init__(self, hops: Iterable[Hop]) -> None:
        self.hops = frozenset(hop for hop in hops if hop.gateway is not None)
        self.addresses = frozenset(hop.gateway for hop in self.hops if hop.gateway is not None)
        self.silent: set[Hop] = set()
        """Ways whose gateway has failed to answer, and has not answered since."""

    def look(self, connection: Connection, devices: Mapping[str, Device]) -> list[str]:
        """Reads the neighbours; news in words."""
        states, news = kernel.neighbours(connection), []
        for hop, key in _keys(self.hops, devices).items():
            state = states.get(key, 0)
            if state & NUD_FAILED and hop not in self.silent:
                self.silent.add(hop)
                news.append(f"{hop} does not answer")
            elif hop in self.silent and state & ~(NUD_FAILED | NUD_INCOMPLETE):
                self.silent.remove(hop)
                news.append(f"{hop} answers")
        return sorted(news)

    def ask(self, connection: Connection, devices: Mapping[str, Device]) -> None:
        """Has the kernel ask the silent ones again."""
        for hop in self.silent:
            if hop.gateway is not None and hop.device in devices:
                kernel.ask_neighbour(connection, devices[hop.device], hop.gateway)


def silent(connection: Connection, hops: Iterable[Hop], devices: Mapping[str, Device]) -> set[Hop]:
    """The ways whose gateway does not answer now.

    A neighbour that failed is asked once more: the kernel itself asks again only when a packet comes, and a path that
    is left out gets none. One that was never asked counts as alive.
    """
    keys = _keys(hops, devices)
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


def _keys(hops: Iterable[Hop], devices: Mapping[str, Device]) -> dict[Hop, tuple[int, Address]]:
    """Number of the device and address of each gateway whose device is there."""
    return {
        hop: (devices[hop.device].index, hop.gateway)
        for hop in hops
        if hop.gateway is not None and hop.device in devices
    }
