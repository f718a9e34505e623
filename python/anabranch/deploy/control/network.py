"""The state of the network's links, from what the switches at both ends and their databases say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from anabranch.deploy.control.as_wired import Placement, as_written
from anabranch.deploy.control.damping import Damper
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.fabric import PORT_NAME_MAX, FabricFile
from anabranch.deploy.control.losses import Losses
from anabranch.deploy.control.policy import View
from anabranch.deploy.control.rule_rates import RuleRates
from anabranch.deploy.control.state import LinkState
from anabranch.deploy.openflow.port import Port, PortCounters

NOWHERE = "no cable is heard for it"
"""The reason of a link that is nowhere, where plans follow cables."""
DAMPED = "damped"
"""The reason of a link that nothing else keeps down."""


@dataclass(frozen=True)
class Interface:
    """Row of an OVSDB about one interface."""

    name: str
    link_speed_bps: int = 0
    """0 where it does not know."""
    rate_bps: int = 0
    """Rate that the operator set in `external_ids:anabranch-rate-bps`; 0 where none is set."""
    bfd_down: bool = False
    """BFD runs on it, and finds that packets do not get through."""
    gateway_silent: bool = False
    """The other end's address is not resolved any more, although there is a carrier."""


@dataclass
class _End:
    """State of one port, as far as it is known."""

    present: bool = True
    up: bool | None = None
    """None: never heard."""
    speed_bps: int = 0
    interface: Interface | None = None
    tx_bytes: int | None = None
    read_s: float = 0.0
    load_bps: float | None = None


class Network:
    """Links between the file's nodes, as they are.

    A link is up if neither end says that it is down. The end at a switch that is not connected says what it said last:
    a switch without a controller still forwards. A rate is the least of what the file, both ports and their databases
    say.
    """

    def __init__(self, file: FabricFile, events: Events, clock: Callable[[], float] = monotonic) -> None:
        self.topology = file.topology
        self.measurements = 0
        self._clock = clock
        self._events = events
        self._damper = Damper(file.damping) if file.damping else None
        self._names = {
            name: {interface[:PORT_NAME_MAX]: self.topology.port[end] for end, interface in switch.interfaces.items()}
            for name, switch in file.switches.items()
        }
        self._ends = [_End() for _ in self.topology.ends]
        self.rules = RuleRates(clock)
        self._apart_s = file.interval_s / 2
        self._losses = Losses(self.topology.links, self._apart_s)
        self._openflow: dict[int, int] = {}
        self._port: dict[tuple[str, int], int] = {}
        """Our number of a switch's port, by OpenFlow's."""
        self._placement = as_written(self.topology)
        self._link_of = {port: index for index, ports in enumerate(self.topology.links) for port in ports}
        """Number of the link that each of our ports is of."""
        self._raw_up = [True] * len(self.topology.links)
        self._links = [self._describe(index) for index in range(len(self.topology.links))]

    def rewire(self, placement: Placement) -> None:
        """Takes which ports the file's links are at."""
        if placement == self._placement:
            return
        self._placement = placement
        pairs = [self._ports(index) for index in range(len(self.topology.links))]
        self._link_of = {port: index for index, ports in enumerate(pairs) for port in ports}
        # What one port sent, another one gets now.
        self._losses = Losses(pairs, self._apart_s)
        moved = [f"{self._named(port)} at {self._named(at)}" for port, at in enumerate(placement.at) if port != at]
        unused = [f"{self._named(port)} - {self._named(other)}" for port, other in placement.unused]
        self._events.report("rewired", moved=", ".join(moved), unused=", ".join(unused) or None)
        self._judge(range(len(pairs)))

    def is_live(self, port: int) -> bool:
        """Whether a switch has a port, and says nothing against it."""
        end = self._ends[port]
        return end.up is True and not self._down(port)

    def number(self, port: int) -> int | None:
        """OpenFlow's number of one of our ports; None where the switch has none or was not reached."""
        return self._openflow.get(port)

    def port(self, switch: str, number: int) -> int | None:
        """Our number of a switch's port, by OpenFlow's; None where the file does not have it."""
        return self._port.get((switch, number))

    def described(self, switch: str, ports: Iterable[Port]) -> bool:
        """Takes a switch's description of all its ports; answers whether a link changed."""
        for number in self.topology.ports_of[switch]:
            openflow = self._openflow.pop(number, None)
            if openflow is not None:
                self._port.pop((switch, openflow), None)
            self._ends[number].present = False
        for port in ports:
            self._take(switch, port)
        for interface, number in self._names[switch].items():
            if not self._ends[number].present:
                self._events.report("port-missing", switch, interface=interface)
        return self._judge(self._link_of[number] for number in self.topology.ports_of[switch])

    def port_status(self, switch: str, port: Port, how: str) -> bool:
        """Takes one change of a port: `add`, `modify` or `delete`."""
        if how == "delete":
            number = self._port.pop((switch, port.number), None)
            if number is not None:
                self._ends[number].present = False
                self._openflow.pop(number, None)
        else:
            number = self._take(switch, port)
        return self._judge([self._link_of[number]] if number is not None else ())

    def interfaces(self, switches: Iterable[str], described: Iterable[Interface]) -> bool:
        """Takes what the database of some switches says."""
        rows = {interface.name[:PORT_NAME_MAX]: interface for interface in described}
        touched = []
        for switch in switches:
            for name, number in self._names[switch].items():
                end = self._ends[number]
                if name in rows and end.interface != rows[name]:
                    end.interface = rows[name]
                    touched.append(self._link_of[number])
        return self._judge(touched)

    def measured(self, switch: str, counters: Sequence[PortCounters]) -> None:
        """Takes a reading of a switch's counters."""
        now_s = self._clock()
        for counter in counters:
            number = self._port.get((switch, counter.number))
            if number is None:
                continue
            end = self._ends[number]
            if end.tx_bytes is not None and counter.tx_bytes >= end.tx_bytes and now_s > end.read_s:
                end.load_bps = 8 * (counter.tx_bytes - end.tx_bytes) / (now_s - end.read_s)
            else:
                # This is the first reading, or the port was created anew.
                end.load_bps = None
            end.tx_bytes, end.read_s = counter.tx_bytes, now_s
            lost = self._lost_shares(self._link_of[number])
            self._losses.read(number, now_s, counter.tx_bytes, counter.rx_bytes)
            self._report_loss(self._link_of[number], lost)

    def measure(self) -> bool:
        """Ends an interval of measuring; answers whether there are loads now."""
        if any(end.load_bps is not None for end in self._ends):
            self.measurements += 1
            return True
        return False

    def unmeasured(self, switch: str) -> None:
        """Forgets the loads of a switch that can no longer be asked."""
        for number in self.topology.ports_of[switch]:
            end = self._ends[number]
            end.tx_bytes = end.load_bps = None
        self._losses.forget(self.topology.ports_of[switch])
        self.rules.forget(switch)

    def refresh(self) -> bool:
        """Judges damped links anew; answers whether one of them is not as it was."""
        return self._judge(index for index, link in enumerate(self._links) if link.reason == DAMPED)

    def _judge(self, links: Iterable[int]) -> bool:
        """Judges some links anew, by number; answers whether one of them is not as it was."""
        has_changed = False
        for index in set(links):
            port, other = self._ports(index)
            was, now = self._raw_up[index], not (self._down(port) or self._down(other))
            now = now and index not in self._placement.absent
            self._raw_up[index] = now
            if was and not now and self._damper:
                self._damper.lost(index, self._clock())
            old, new = self._links[index], self._describe(index)
            self._links[index] = new
            self._report_change(old, new)
            has_changed = has_changed or (old.up, old.rate_bps) != (new.up, new.rate_bps)
        return has_changed

    def wakes_s(self) -> float | None:
        """When to `refresh` by itself, on the clock; None if nothing waits."""
        return self._damper.wakes_s() if self._damper else None

    @property
    def links(self) -> tuple[LinkState, ...]:
        """All links with their last loads and losses."""
        return tuple(
            replace(link, load_bps=self._loads(index), lost_share=self._lost_shares(index))
            for index, link in enumerate(self._links)
        )

    def openflow_ports(self, switch: str) -> dict[int, int]:
        """OpenFlow's number of each of our ports that a switch has, if it was reached."""
        known, at = dict(self._openflow), self._placement.at
        return {number: known[at[number]] for number in self.topology.ports_of[switch] if at[number] in known}

    def view(self, observed: Mapping[str, Any]) -> View:
        """The state that plans are made from, given the observed state of each switch."""
        up, rate_bps = [False] * len(self._ends), [0] * len(self._ends)
        for link, ports in zip(self._links, self.topology.links, strict=True):
            for port in ports:
                up[port], rate_bps[port] = link.up, link.rate_bps
        at = self._placement.at
        loads = tuple(self._ends[port].load_bps or 0.0 for port in at)
        numbers = {number: self._openflow[port] for number, port in enumerate(at) if port in self._openflow}
        rules = self.rules.bps
        known = observed, self.measurements, rules
        return View(self.topology, tuple(up), tuple(rate_bps), loads, numbers, *known)

    def _take(self, switch: str, port: Port) -> int | None:
        """Takes what a switch says of a port; answers our number of it."""
        number = self._names[switch].get(port.name)
        if number is not None:
            end = self._ends[number]
            end.present, end.up, end.speed_bps = True, port.link_up, port.current_bps
            self._openflow[number] = port.number
            self._port[switch, port.number] = number
        return number

    def _down(self, port: int) -> str:
        """Why the end at `port` takes the link down; empty if it does not."""
        end, name = self._ends[port], self.topology.ends[port].node
        if not end.present:
            return f"{name}: no such port"
        if end.up is False:
            return f"{name}: port down"
        if end.interface is not None and end.interface.bfd_down:
            return f"{name}: BFD down"
        if end.interface is not None and end.interface.gateway_silent:
            return f"{name}: gateway does not answer"
        return ""

    def _ports(self, index: int) -> tuple[int, int]:
        """The two ports that a link is at."""
        port, other = self.topology.links[index]
        return self._placement.at[port], self._placement.at[other]

    def _named(self, port: int) -> str:
        end = self.topology.ends[port]
        return f"{end.node}-{end.neighbour}" + (f"#{end.parallel}" if end.parallel else "")

    def _rate_bps(self, port: int) -> list[int]:
        """Rates that are known of a port's end, beside the file's."""
        end = self._ends[port]
        rates = [end.speed_bps]
        if end.interface is not None:
            rates += [end.interface.link_speed_bps, end.interface.rate_bps]
        return [rate for rate in rates if rate > 0]

    def _describe(self, index: int) -> LinkState:
        port, other = self._ports(index)
        reason = NOWHERE if index in self._placement.absent else self._down(port) or self._down(other)
        if not reason and self._damper and self._damper.suppressed(index, self._clock()):
            reason = DAMPED
        number, opposite = self.topology.links[index]
        end, built_bps = self.topology.ends[number], self.topology.rate_bps[number]
        built = [rate for rate in (built_bps, self.topology.rate_bps[opposite]) if rate > 0]
        rate_bps = min(built + self._rate_bps(port) + self._rate_bps(other))
        loads = self._loads(index)
        return LinkState(end.node, end.neighbour, end.parallel, not reason, reason, rate_bps, loads, built_bps)

    def _loads(self, index: int) -> tuple[float | None, float | None]:
        port, other = self._ports(index)
        return self._ends[port].load_bps, self._ends[other].load_bps

    def _lost_shares(self, index: int) -> tuple[float, float]:
        port, other = self._ports(index)
        return self._losses.share(port), self._losses.share(other)

    def _report_loss(self, index: int, before: tuple[float, float]) -> None:
        ends = zip(self.topology.links[index], before, self._lost_shares(index), strict=True)
        for port, was, now in ends:
            if bool(was) != bool(now):
                link = self._named(port)
                self._events.report("losing" if now else "loses-no-more", link=link, lost_share=now or None)

    def _report_change(self, old: LinkState, new: LinkState) -> None:
        link = f"{new.a}-{new.b}" + (f"#{new.parallel}" if new.parallel else "")
        if new.reason == DAMPED != old.reason:
            self._events.report("damped", link=link)
        if new.up != old.up:
            self._events.report("link-up" if new.up else "link-down", link=link, reason=new.reason or None)
        if new.rate_bps != old.rate_bps:
            self._events.report("rate-changed", link=link, rate_bps=new.rate_bps)
