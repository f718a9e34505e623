"""Hooks by which a simulation asks an agent: weights of groups, paths of packets, or other paths of connections."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from anabranch._core import Ack, Connection, Group, Member, Packet, View
from anabranch.simulate.learning.dialogue import Dialogue
from anabranch.simulate.learning.sight import RoundTrips, Sight, facts_of_host, facts_of_switch
from anabranch.simulate.own.scheme import HOST_METHODS, integers


def weight_hooks(dialogue: Dialogue, sight: Sight, switches: Collection[str], epoch: str) -> dict[str, Any]:
    """Asks for weights of each group at the end of each epoch."""

    def weights(group: Group, stats: Sequence[Member]) -> list[int] | None:
        seen = sight.of_group(group, stats)
        if group.switch not in switches:
            return None
        given = np.asarray(dialogue.ask((seen, facts_of_switch(group))), dtype=np.float64)[: len(stats)]
        usable = any(weight > 0 and member.up for weight, member in zip(given, stats, strict=True))
        return integers(given.tolist()) if usable else list(group.weights)

    return {"weights": weights, "epoch": epoch}


def path_hooks(dialogue: Dialogue, sight: Sight, switches: Collection[str]) -> dict[str, Any]:
    """Asks for the next hop of each unit that stays together; switches without an agent draw one that is up."""

    def pick(packet: Packet, view: View) -> int:
        up = [member for member in range(len(view.members)) if view.up(member)]
        if view.switch not in switches or len(up) < 2:
            return up[int(view.random() * len(up))] if up else 0
        asked = int(dialogue.ask((sight.of_view(view), facts_of_switch(view, packet))))
        chosen = asked if asked in up else up[0]
        sight.decided(view, chosen)
        return chosen

    return {"pick": pick}


def repath_hooks(dialogue: Dialogue) -> dict[str, Any]:
    """Asks at the end of each round trip of each connection whether it should take another path."""

    def opened(connection: Connection) -> int:
        connection.state = RoundTrips()
        return connection.draw_entropy()

    def acknowledged(ack: Ack, connection: Connection) -> int | None:
        seen = connection.state.of_ack(ack)
        if seen is None or not int(dialogue.ask((seen, facts_of_host(connection)))):
            return None
        connection.state.age = 0
        return connection.draw_entropy()

    own = {"opened": opened, "acknowledged": acknowledged}
    return {"hosts": {name: own.get(name) for name in HOST_METHODS}}
