"""Truth about cables: each port of a switch towards another says whose it is, and every port reports what it hears.

Frames go by ports that the file gives to links between switches, and are taken from these alone: hosts neither get them
nor can they keep the controller busy. A verdict is about one port. What is judged is hearing, so nothing is concluded
from frames that were not sent.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import monotonic

from anabranch.deploy.control.cable import (
    DOWN,
    LOSING,
    MISWIRED,
    RIGHT,
    UNCHECKED,
    UNHEARD,
    WAITING,
    WRONG,
    CableState,
)
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.frame_losses import SILENT, FrameLosses
from anabranch.deploy.control.network import Network
from anabranch.deploy.wiring.frame import Advertisement, FrameError, decode
from anabranch.deploy.wiring.marks import Marks

MISSES = 3
"""Intervals in which nothing is heard before a cable counts as unheard."""
FRESH_INTERVALS = 2
"""Intervals for which a frame is believed: one that is sent on later is none of its port's."""
LATE_S = 5.0
"""Time beyond those for which a frame may arrive before it is lost: a busy machine hears late."""
BURST_S = (0.02, 0.1, 0.5)
"""Times after a change at which ports send before their turn, until their neighbours have heard them."""
STRANGER_MAX_S = 300.0
"""A stranger's word holds as long as it says, but no longer."""

Send = Callable[[int, bytes], None]
"""Sends a frame by one of our ports."""


@dataclass
class _Ear:
    """What a port has heard since it is up."""

    ports: dict[int, float] = field(default_factory=dict)
    """Moment of the last frame of each port."""
    stranger: str = ""
    """Name of who else was heard last."""
    stranger_since_s: float = -math.inf
    stranger_until_s: float = -math.inf
    open_s: float = math.inf
    """Moment from which it could hear; infinite while it cannot."""


class Wiring:
    """Cables of a fabric's switches, while a controller runs.

    Args:
        file: the fabric.
        network: the state of its ports.
        events: receiver of changes of verdicts.
        commits: whether switches may be changed; if not, nothing is sent and nothing is known.

    """

    def __init__(
        self,
        file: FabricFile,
        network: Network,
        events: Events,
        *,
        commits: bool = True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._file, self._network, self._events, self._clock = file, network, events, clock
        self._marks = Marks(file.owner)
        self._topology = topology = file.topology
        self._interval_s = file.wiring.interval_s
        self.is_on = file.wiring.use and commits
        """Whether frames are sent and heard."""
        between = [
            port
            for port, end in enumerate(topology.ends)
            if not topology.is_host(end.node) and not topology.is_host(end.neighbour)
        ]
        self._ears = {port: _Ear() for port in between}
        self._losses = FrameLosses(LATE_S + FRESH_INTERVALS * self._interval_s)
        self._hearers: dict[int, int] = {}
        """The port that has heard each port last: what is sent now should arrive there."""
        self._names = {port: f"{topology.ends[port].node} port {self._interface(port)}" for port in between}
        self._ready: dict[str, Send] = {}
        self._expected: set[str] = set()
        self._deaf: dict[str, str] = {}
        reason = "" if not file.wiring.use else "nothing is sent while nothing may be changed"
        self._cables = {port: self._state(port, UNCHECKED, reason) for port in between}
        self._burst: asyncio.TimerHandle | None = None
        self._burst_step = 0
        self.on_change: Callable[[], None] = lambda: None
        """Called when a port hears another neighbour than before, or none any more."""

    @property
    def cables(self) -> tuple[CableState, ...]:
        """All ports between switches; may be read by any thread."""
        return tuple(dict(self._cables).values())

    @property
    def is_settled(self) -> bool:
        """Whether every port that can hear has heard, or has waited in vain."""
        return all(cable.verdict != WAITING for cable in self._cables.values())

    def verdicts(self) -> dict[int, str]:
        """Verdict on each port."""
        return {port: cable.verdict for port, cable in self._cables.items()}

    def neighbours(self) -> dict[int, int]:
        """The port that each port hears, where it is one alone."""
        now_s = self._clock()
        heard = {port: self._heard(port, now_s) for port in self._ears}
        return {port: others[0] for port, others in heard.items() if len(others) == 1}

    # Calls of sessions.

    def expect(self, switch: str) -> None:
        """Takes that a switch will send our frames: until it does, or is away, its cables are not known to be right."""
        if self.is_on and switch not in self._ready:
            self._expected.add(switch)
            self.look()

    def ready(self, switch: str, send: Send) -> None:
        """Takes that a switch sends our frames, and passes on those that come."""
        if self.is_on and switch not in self._ready:
            self._ready[switch] = send
            self._expected.discard(switch)
            self._deaf.pop(switch, None)
            self.look()

    def away(self, switch: str, reason: str = "") -> None:
        """Takes that a switch does so no longer; what was known of its ports says nothing of later."""
        if reason and self._deaf.get(switch) != reason:
            self._events.report("wiring-unchecked", switch, error=reason)
        self._deaf[switch] = reason
        was_known = switch in self._expected or self._ready.pop(switch, None) is not None
        self._expected.discard(switch)
        if was_known or reason:
            self.look()

    def hears(self, port: int, frame: bytes) -> None:
        """Takes a frame that came to a port of ours. What is no frame, and what is sent on later, counts as nothing."""
        ear = self._ears.get(port)
        if ear is None or math.isinf(ear.open_s):
            return
        try:
            advertised = decode(frame)
        except FrameError:
            return
        now_s = self._clock()
        mark = advertised.mark
        if mark is None or not self._marks.is_ours(mark):
            self._take_stranger(ear, advertised, now_s)
            self._judge(port, now_s)
            return
        self._losses.arrived(mark.port, mark.sequence)
        if mark.port in self._ears and self._marks.is_fresh(mark, now_s, FRESH_INTERVALS * self._interval_s):
            before_s, ear.ports[mark.port] = ear.ports.get(mark.port, -math.inf), now_s
            self._hearers[mark.port] = port
            if now_s - before_s >= MISSES * self._interval_s:
                # It was not heard before.
                self._judge(port, now_s)

    # The controller's part.

    def look(self) -> None:
        """Takes the state of all ports, which may be another, and has those send soon that were not heard."""
        if not self.is_on:
            return
        now_s = self._clock()
        for port, ear in self._ears.items():
            can_hear = self._topology.ends[port].node in self._ready and self._network.is_live(port)
            if can_hear and math.isinf(ear.open_s):
                ear.open_s = now_s
            elif not can_hear and not math.isinf(ear.open_s):
                self._ears[port] = _Ear()
                heard = [other for other, at in self._hearers.items() if at == port]
                self._losses.forget([port, *heard])
                for other in heard:
                    del self._hearers[other]
        self.judge()
        if not self.is_settled:
            self._send_soon(0)

    async def run(self) -> None:
        """Sends, and judges what was heard, until it is cancelled."""
        try:
            while True:
                self.send(self._ears)
                await asyncio.sleep(self._interval_s)
                self.judge()
        finally:
            if self._burst is not None:
                self._burst.cancel()

    def send(self, ports: Iterable[int]) -> None:
        """Sends a frame by each of some ports that are up, at switches that send."""
        now_s = self._clock()
        for port in ports:
            node = self._topology.ends[port].node
            send = self._ready.get(node)
            if send is not None and self._network.is_live(port):
                ttl_s = math.ceil((MISSES + 1) * self._interval_s)
                mark = self._marks.next(port, now_s)
                if port in self._hearers:
                    self._losses.sent(port, mark.sequence, now_s)
                send(port, Advertisement(node, self._interface(port), ttl_s, node, mark).encode())

    def judge(self) -> None:
        """Judges all cables by what was heard until now."""
        now_s = self._clock()
        self._losses.settle(now_s)
        for port in self._ears:
            self._judge(port, now_s)

    def _send_soon(self, step: int) -> None:
        """Sends again shortly, while there are ports that wait; all send: any of them may be what they wait for."""

        def send() -> None:
            self._burst = None
            if not self.is_settled:
                self.send(port for port in self._ears if self._cables[port].verdict != RIGHT)
                if step + 1 < len(BURST_S):
                    self._send_soon(step + 1)

        if self._burst is not None:
            if self._burst_step == step:
                return
            self._burst.cancel()
        self._burst_step = step
        self._burst = asyncio.get_running_loop().call_later(BURST_S[step], send)

    def _take_stranger(self, ear: _Ear, advertised: Advertisement, now_s: float) -> None:
        """Takes a frame that this controller has not sent."""
        if advertised.ttl_s == 0:
            ear.stranger_until_s = -math.inf
            return
        # One that calls itself something else with every frame is not taken at each of its words.
        if now_s >= ear.stranger_since_s + self._interval_s:
            ear.stranger, ear.stranger_since_s = (
                f'"{advertised.system or advertised.chassis}" port "{advertised.port}"',
                now_s,
            )
            if advertised.mark is not None:
                ear.stranger += f" of another controller (owner {advertised.mark.owner})"
        ear.stranger_until_s = now_s + min(max(advertised.ttl_s, MISSES * self._interval_s), STRANGER_MAX_S)

    def _heard(self, port: int, now_s: float) -> list[int]:
        """Ports that a port has heard of late, in the order of the fabric."""
        heard = dict(self._ears[port].ports)
        return sorted(
            other for other, heard_s in heard.items() if now_s - heard_s <= self._misses(other) * self._interval_s
        )

    def _misses(self, port: int) -> int:
        """Intervals of silence that say something of a port: where frames are lost, some are due to that."""
        return SILENT if self._losses.share(port) else MISSES

    def _judge(self, port: int, now_s: float) -> None:
        """Judges a port's cable, and reports a verdict that is another than before."""
        before = self._cables[port]
        now = self._verdict(port, now_s)
        if now == before:
            return
        self._cables[port] = now
        if before.verdict == LOSING != now.verdict:
            self._events.report("loses-no-more", now.switch, interface=now.interface)
        if now.verdict in WRONG and (now.verdict, now.text) != (before.verdict, before.text):
            self._events.report(now.verdict, now.switch, interface=now.interface, error=now.text)
        elif now.verdict == LOSING != before.verdict:
            self._events.report("losing", now.switch, interface=now.interface, error=now.text)
        elif now.verdict == RIGHT and before.verdict in WRONG:
            self._events.report("wired-as-written", now.switch, interface=now.interface)
        self.on_change()

    def _verdict(self, port: int, now_s: float) -> CableState:
        ear, expected = self._ears[port], self._topology.reverse[port]
        node, neighbour = self._topology.ends[port].node, self._topology.ends[port].neighbour
        if math.isinf(ear.open_s):
            if node in self._ready:
                return self._state(port, DOWN)
            if node in self._expected:
                return self._state(port, WAITING, f"{node} does not pass frames on yet")
            return self._state(port, UNCHECKED, self._deaf.get(node) or f"{node} does not pass frames on")
        heard = self._heard(port, now_s)
        stranger = ear.stranger if now_s < ear.stranger_until_s else ""
        names = tuple(self._names[other] for other in heard) + ((stranger,) if stranger else ())
        port_name, by_file = self._names[port], self._names[expected]
        if heard == [expected]:
            share = self._losses.share(expected)
            if not share:
                return self._state(port, RIGHT, heard=names)
            problem = f"about {10 * round(10 * share)} % of our frames from {by_file} do not arrive at {port_name}"
            return self._state(port, LOSING, problem, names)
        if len(heard) > 1:
            several = " and ".join(self._names[other] for other in heard)
            problem = f"{port_name} hears {several}: something joins more than two ports; the file says {by_file}"
            return self._state(port, MISWIRED, problem, names)
        if heard == [port]:
            return self._state(port, MISWIRED, f"{port_name} hears itself; the file says {by_file}", names)
        if heard:
            problem = f"{port_name} is wired to {self._names[heard[0]]}; the file says {by_file}"
            return self._state(port, MISWIRED, problem, names)
        if stranger:
            problem = f"{port_name} is wired to {stranger}, which this file does not have; the file says {by_file}"
            return self._state(port, MISWIRED, problem, names)
        if math.isinf(self._ears[expected].open_s):
            if neighbour in self._expected:
                return self._state(port, WAITING, f"nothing is sent by {by_file} yet")
            reason = self._deaf.get(neighbour) or f"nothing is sent by {by_file}"
            return self._state(port, UNCHECKED, reason)
        if self._is_in_vain(port, expected, now_s):
            hint = "the cable leads elsewhere, or what is between them lets no LLDP frames through"
            return self._state(port, UNHEARD, f"{port_name} hears nothing of {by_file}; {hint}")
        return self._state(port, WAITING, f"{port_name} has not heard {by_file} yet")

    def _is_in_vain(self, port: int, other: int, now_s: float) -> bool:
        """Whether enough frames were sent that it should have heard: a controller that slept has sent none."""
        last_s = self._ears[port].ports.get(other, -math.inf)
        since_s = max(last_s, self._ears[port].open_s, self._ears[other].open_s)
        is_long_ago = now_s - since_s >= MISSES * self._interval_s
        return is_long_ago and self._marks.sent_since(other, since_s, now_s - self._interval_s / 2) >= MISSES

    def _state(self, port: int, verdict: str, text: str = "", heard: tuple[str, ...] = ()) -> CableState:
        end, other = self._topology.ends[port], self._topology.reverse[port]
        return CableState(
            end.node,
            self._interface(port),
            end.neighbour,
            end.parallel,
            self._interface(other),
            verdict,
            text,
            heard,
        )

    def _interface(self, port: int) -> str:
        end = self._topology.ends[port]
        return self._file.switches[end.node].interfaces[end]
