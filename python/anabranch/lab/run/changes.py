"""A scenario's `[[change]]`s done to the links of a lab."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.blueprint import Cable, End
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.run.forwarding import Switches

PARTIAL = {"port_loss": "loss", "node_blackhole": "blackhole"}


def refuse_partial(changes: list[dict[str, Any]]) -> None:
    """Refuses what loses some packets, or those of some flows.

    Raises:
        AnabranchError: there is such a change.

    """
    for change in changes:
        if change["what"] in PARTIAL and not (change["what"] == "port_loss" and change["value"] in (0, 1)):
            raise AnabranchError(
                f"change: {PARTIAL[change['what']]}: {change['value']:g}: a lab loses all that a link carries or "
                'nothing, as it has no netem; loss = 1, set = "down" or a rate'
            )


@dataclass(frozen=True)
class Change:
    """Change of a lab at one moment."""

    at_ns: float
    """Time of the change, in the scenario's time."""
    words: str
    apply: Callable[[], None]


class Links:
    """The links of a lab and what switches believe of them, by the ports of the topology."""

    def __init__(
        self, lab: Lab, topology: Mapping[str, Any], switches: Switches, burst_frames: int | None = None
    ) -> None:
        self._lab, self._switches, self._burst_frames = lab, switches, burst_frames
        names, ports = topology["nodes"]["name"], topology["ports"]
        self._nodes: list[str] = names
        self._reverse: list[int] = ports["reverse"]
        self._from, self._to = ports["from"], ports["to"]
        seen: dict[frozenset[str], int] = defaultdict(int)
        self._cables: dict[int, Cable] = {}
        for port, back in enumerate(self._reverse):
            if port < back:
                a, b = names[self._from[port]], names[self._to[port]]
                cable = lab.cable(a, b, seen[frozenset((a, b))])
                self._cables[port] = self._cables[back] = cable
                seen[frozenset((a, b))] += 1
        self._changed: set[int] = set()

    def end(self, port: int) -> End:
        """The end of a cable that a port of the topology is."""
        cable = self._cables[port]
        return cable.a if cable.a.node == self._nodes[self._from[port]] else cable.b

    def changes(self, resolved: list[dict[str, Any]]) -> list[Change]:
        """The topology's changes, those of one moment together.

        Raises:
            AnabranchError: one that this kernel has no means for.

        """
        refuse_partial(resolved)
        moments: dict[float, list[dict[str, Any]]] = defaultdict(list)
        for change in resolved:
            moments[change["at_ns"]].append(change)
        return [self._change(at_ns, moments[at_ns]) for at_ns in sorted(moments)]

    def tighten(self) -> None:
        """Gives all links the burst that is wished for, if one is."""
        if self._burst_frames is not None:
            self._changed |= self._cables.keys()
            for port in self._cables:
                self._lab.set_rate(self.end(port), self.end(port).rate_bps, self._burst_frames)

    def restore(self) -> None:
        """All links as built."""
        for port in sorted(self._changed):
            cable = self._cables[port]
            self._lab.set_link(cable.a.node, cable.b.node, up=True, silent=False, parallel=cable.parallel)
            self._lab.set_rate(self.end(port), self.end(port).rate_bps)

    def _change(self, at_ns: float, parts: list[dict[str, Any]]) -> Change:
        up: dict[int, bool] = {}
        silent: dict[int, bool] = {}
        rates: dict[int, float] = {}
        for part in parts:
            if part["what"] == "port_rate":
                rates[part["port"]] = part["value"]
            elif part["what"] == "port_loss":
                silent[part["port"]] = part["value"] == 1
            elif part["what"].startswith("node_"):
                ports = [port for port in self._cables if self._nodes[self._from[port]] == self._nodes[part["node"]]]
                up |= {end: part["what"] == "node_up" for port in ports for end in (port, self._reverse[port])}
            else:
                up[part["port"]] = part["what"] == "port_up"
        for states in (up, silent):
            for port, state in states.items():
                if states.get(self._reverse[port]) != state:
                    raise AnabranchError(
                        f"change: {self._name(port)}: a cable fails in both directions; write it with a -"
                    )
        self._changed |= up.keys() | silent.keys() | rates.keys()

        def apply() -> None:
            for port in sorted(up.keys() | silent.keys()):
                cable = self._cables[port]
                if port < self._reverse[port]:
                    self._lab.set_link(
                        cable.a.node, cable.b.node, up=up.get(port), silent=silent.get(port), parallel=cable.parallel
                    )
            for port, state in up.items():
                self._switches.up[port] = state
            for port, rate in rates.items():
                rate_bps = self._lab.scaled(rate)
                self._lab.set_rate(self.end(port), rate_bps, self._burst_frames)
                self._switches.rate_bps[port] = rate_bps

        words = [f"{self._name(port)} {'up' if state else 'down'}" for port, state in up.items()]
        words += [f"{self._name(port)} {'silent' if state else 'heard again'}" for port, state in silent.items()]
        words += [f"{self._name(port)} {rate / 1e6:g} Mb/s" for port, rate in rates.items()]
        return Change(at_ns, ", ".join(words), apply)

    def _name(self, port: int) -> str:
        return f"{self._nodes[self._from[port]]}>{self._nodes[self._to[port]]}"
