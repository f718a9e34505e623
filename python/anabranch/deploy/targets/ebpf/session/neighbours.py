"""The neighbours that a datapath routes to, by what the kernel of its namespace finds out about them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from anabranch.deploy.control.fabric import SwitchFile
from anabranch.deploy.control.gateway_keys import VERSIONS, Gateways, hop
from anabranch.deploy.netlink.announcements import Announcements
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.gateways import GatewayWatch, Retry
from anabranch.deploy.netlink.nexthop import Address, Device


class Neighbours:
    """Gateways of a switch by interface, and which of them are silent.

    Args:
        switch: that routes.
        gateways: its key.
        stack: closes what is opened in the thread's namespace.

    """

    def __init__(self, switch: SwitchFile, gateways: Gateways, stack: ExitStack) -> None:
        hops = {
            name: {version: hop(switch, gateways, end, version) for version in VERSIONS}
            for end, name in switch.interfaces.items()
        }
        self._of = {
            name: {version: one.gateway for version, one in ways.items() if one.gateway is not None}
            for name, ways in hops.items()
        }
        self._watch = GatewayWatch(one for ways in hops.values() for one in ways.values())
        self._connection = stack.enter_context(Connection())
        self.announcements = stack.enter_context(Announcements(None, self._watch.addresses))
        self.forwarding = stack.enter_context(Announcements(None, frozenset(), forwarding=True))
        self._retry = Retry()

    def look(self, devices: Mapping[str, Device], asks: bool) -> bool:
        """Reads what the kernel knows; whether anything is new. If it `asks`, silent ones are asked again when due."""
        news = self._watch.look(self._connection, devices)
        if self._watch.silent and self._retry.due() and asks:
            self._watch.ask(self._connection, devices)
        return bool(news)

    @property
    def wait_s(self) -> float | None:
        """Time until silent ones are to be asked again; None if none is silent."""
        return self._retry.wait_s if self._watch.silent else None

    @property
    def silent(self) -> frozenset[str]:
        """Interfaces by which a gateway has failed to answer, and has not answered since."""
        return frozenset(one.device for one in self._watch.silent)

    def by_number(self, devices: Mapping[str, Device]) -> dict[int, Mapping[int, Address]]:
        """Gateways by IP version, by number of the interface, of the interfaces that are there."""
        return {devices[name].index: ways for name, ways in self._of.items() if name in devices}
