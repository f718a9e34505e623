"""A dummy fabric that remembers what was done to its links, and whose switches may be reached in other ways."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.deploy.targets.ovs.daemons import DATABASE, SWITCH
from support.dummy_fabric import DummyFabric
from support.needs import need_open_vswitch


@dataclass
class DummyBridges(DummyFabric):
    """Bridges leaf0, leaf1, ..., spine0, ...; the port of leaf0 towards spine1 is `leaf0-spine1`."""

    down: set[str] = field(default_factory=set)
    """Interfaces whose cable was pulled."""
    rate_bps: dict[str, int] = field(default_factory=dict)
    """Rates of the interfaces whose rate the database has."""
    changed_s: float = 0.0
    """When something was done last, in seconds of Unix time."""
    restarted_s: float = 0.0
    """When `ovs-vswitchd` was started last."""

    @property
    def bridges(self) -> list[str]:
        """Names of all bridges."""
        return [f"{tier}{index}" for tier, n in (("leaf", self.leaves), ("spine", self.spines)) for index in range(n)]

    def datapath_id(self, bridge: str) -> int:
        """Datapath's number, as `start` gave it."""
        return sorted(self.ports()).index(bridge) + 1

    def set_port(self, interface: str, up: bool) -> None:
        """Has a port's carrier come or go, as if its cable were pulled."""
        (self.down.discard if up else self.down.add)(interface)
        self.link(interface, up)
        self.changed_s = time.time()

    def set_rate(self, interface: str, rate_bps: int) -> None:
        """Has the database say a port's rate: a dummy has none of its own."""
        self.rate_bps[interface] = rate_bps
        self.open_vswitch.vsctl("set", "interface", interface, f"external-ids:anabranch-rate-bps={rate_bps}")
        self.changed_s = time.time()

    def change(self, source: random.Random, rates: bool = True) -> None:
        """Has a link come or go, or have another rate."""
        leaf, spine = f"leaf{source.randrange(self.leaves)}", f"spine{source.randrange(1, self.spines)}"
        interface = source.choice((f"{leaf}-{spine}", f"{spine}-{leaf}"))
        if rates and source.random() < 0.4:
            self.set_rate(f"{leaf}-{spine}", source.choice((1, 2, 5, 10)) * 10**9)
        else:
            self.set_port(interface, up=source.random() < 0.5)

    def is_as_in(self, status: dict[str, Any]) -> bool:
        """Whether a controller's `status.json` has all links as they are, after the last change."""
        # A page is given to all who ask within a while; and of a switch that was killed it may not have been heard yet.
        if status["time_s"] <= self.changed_s or any(
            switch["changed_s"] <= self.restarted_s for switch in status["switches"]
        ):
            return False
        for link in status["links"]:
            if link["b"].startswith("spine"):
                rate_bps = self.rate_bps.get(f"{link['a']}-{link['b']}", int(self.rate.split()[0]) * 10**9)
                if link["up"] != self.link_up(link["a"], link["b"]) or link["rate_bps"] != rate_bps:
                    return False
        return True

    def link_up(self, leaf: str, spine: str) -> bool:
        """Whether both ends have a carrier."""
        return not self.down & {f"{leaf}-{spine}", f"{spine}-{leaf}"}

    def restart_switch(self) -> None:
        """Starts `ovs-vswitchd` after it was killed; dummies come up with a carrier."""
        self.changed_s = self.restarted_s = time.time()
        self.open_vswitch.start_switch()
        self.down.clear()

    def fabric_toml(
        self,
        *,
        openflow: dict[str, str] | None = None,
        listen: str = "",
        http: str = "127.0.0.1:0",
        more: str = "",
        databases: dict[str, str] | None = None,
    ) -> str:
        """The controller's file; `openflow` replaces addresses of switches, an empty one is left out.

        `databases` says where the OVSDB of switches is, `more` stands before their tables.
        """
        place = f'http = "{http}"\n' + f'openflow = "{listen}"' * bool(listen)
        text = self.text().replace('http = "127.0.0.1:0"', place)
        head, *switches = text.split("\n[switch.")
        found = [head, more]
        for switch in switches:
            name = switch.partition("]")[0]
            address = (openflow or {}).get(name, self.open_vswitch.openflow(name))
            database = (databases or {}).get(name, "")
            lines = [f"[switch.{name}]", f'datapath_id = "{self.datapath_id(name):016x}"']
            lines += [f'openflow = "{address}"'] * bool(address) + [f'ovsdb = "{database}"'] * bool(database)
            kept = [line for line in switch.splitlines()[1:] if not line.startswith(("openflow", "ovsdb"))]
            found += [*lines, *kept]
        return "\n".join(found) + "\n"


@contextmanager
def dummy_bridges(folder: Path, leaves: int, spines: int) -> Iterator[DummyBridges]:
    """Starts one; skips the test where Open vSwitch is missing."""
    need_open_vswitch()
    made = DummyBridges(folder, leaves, spines)
    try:
        made.start()
        yield made
    finally:
        for daemon in (SWITCH, DATABASE):
            made.open_vswitch.kill(daemon)
