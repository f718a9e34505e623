"""Who of several controllers may change a bridge: its primary, whom the others replace when it gives no sign of life.

The bridge is the arbiter. It refuses changes of a secondary, and it has one primary at most, the one of the latest
generation. A primary raises the generation by a beat each `takeover / 5`; a secondary reads it as often, and asks to be
the primary when it has stayed for `takeover`. Nobody is asked but the bridge, so controllers need not reach each other.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.openflow.error import Refused
from anabranch.deploy.openflow.role_codec import Role
from anabranch.deploy.targets.ovs.session.generation import RUNS, Generation

BEATS = 5
"""Beats within the time after which a silent primary is replaced."""
STALE = "OFPRRFC_STALE"
NOT_PRIMARY = "OFPBRC_IS_SLAVE"
"""Name of the error by which a bridge refuses a change of a secondary."""


class Election:
    """One controller among those of a fabric: the bridges that it is the primary of."""

    def __init__(self, takeover_s: float, bridges: int, run: int | None = None) -> None:
        """Is the primary of none; `run` is drawn unless it is given."""
        self.takeover_s = takeover_s
        self.run = secrets.randbelow(RUNS) if run is None else run
        self.led: set[str] = set()
        """Names of bridges."""
        self._bridges = bridges

    def claims(self, generation: Generation) -> bool:
        """Whether to replace a primary that lives: it has fewer bridges of the fabric, which is to have one primary.

        Of two that have half of them each, the one of the higher run replaces the other.
        """
        double = 2 * len(self.led)
        return double > self._bridges or (double == self._bridges and self.run > generation.run)


class Candidacy:
    """The election at one bridge."""

    def __init__(self, bridge: str, election: Election, on_change: Callable[[bool, str], None]) -> None:
        """Is no primary.

        Args:
            bridge: its name.
            election: the controller's part in all of them.
            on_change: called with whether this controller is the primary now, and why.

        """
        self._bridge, self._election, self._on_change = bridge, election, on_change
        self._generation = Generation(0, 0)
        """The last that is known of."""
        self._since_s = 0.0
        """When it was first known of."""

    @property
    def leads(self) -> bool:
        """Whether this controller is the primary, as far as it knows: what it sends otherwise is refused."""
        return self._bridge in self._election.led

    async def begin(self, connection: Connection) -> None:
        """Becomes a secondary, before anything else is asked: a connection begins with the right to change tables."""
        connection.on_role = self._given
        while True:
            _, number = await connection.role(Role.UNCHANGED)
            try:
                await connection.role(Role.SECONDARY, number or 0)
            except Refused as refused:
                if refused.error.name != STALE:
                    raise
                # The primary has given another sign of life meanwhile.
                continue
            self._hear(number)
            return

    async def run(self, connection: Connection) -> None:
        """Beats as a primary, or waits for the primary's silence, until it is cancelled."""
        while True:
            await asyncio.sleep(self._election.takeover_s / BEATS)
            if self.leads:
                await self._beat(connection)
            else:
                await self._look(connection)

    def refused(self) -> None:
        """Takes notice that the bridge has refused a change for want of the role."""
        self._lose("the bridge refused a change")

    def end(self, connection: Connection | None = None) -> None:
        """Is a candidate no more; a bridge whose connection is given lets the next primary begin at once."""
        if self.leads and connection is not None:
            connection.give_up_role(self._generation.released().number)
        self._election.led.discard(self._bridge)

    async def _beat(self, connection: Connection) -> None:
        beat = self._generation.next_beat()
        try:
            await connection.role(Role.PRIMARY, beat.number)
        except Refused as refused:
            if refused.error.name != STALE:
                raise
            self._lose("another controller has asked for it")
        else:
            if self.leads:
                self._generation = beat

    async def _look(self, connection: Connection) -> None:
        # The bridge answers some time after it was asked and before the answer is here. However late this controller
        # is, the generation has stayed at least from the first answer to the last question.
        asked_s = asyncio.get_running_loop().time()
        _, number = await connection.role(Role.UNCHANGED)
        heard = Generation.of(number)
        if heard != self._generation:
            self._hear(number)
        if heard.is_released:
            why = "its primary has ended"
        elif self._election.claims(heard):
            why = "this controller is the primary of most bridges"
        elif asked_s - self._since_s >= self._election.takeover_s:
            why = f"no primary has shown for {asked_s - self._since_s:.2f} s"
        else:
            return
        first = heard.after(self._election.run)
        try:
            await connection.role(Role.PRIMARY, first.number)
        except Refused as refused:
            if refused.error.name != STALE:
                raise
            return
        self._generation = first
        self._election.led.add(self._bridge)
        self._on_change(True, why)

    def _given(self, role: Role, generation: int | None) -> None:
        if role == Role.SECONDARY:
            self._lose("another controller has it")
            self._hear(generation)

    def _hear(self, number: int | None) -> None:
        self._generation, self._since_s = Generation.of(number), asyncio.get_running_loop().time()

    def _lose(self, why: str) -> None:
        if self.leads:
            self._election.led.discard(self._bridge)
            self._generation = Generation(0, 0)
            self._on_change(False, why)
