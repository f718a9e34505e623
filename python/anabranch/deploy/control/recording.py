"""Recordings of a fabric: what switches said, in the order in which it was taken, and the weights that were planned.

A recording is a file of JSON lines (docs/control.md has the records). Each line is written before what it is about is
acted on, so that a file that was cut has all that led to the last decision, up to its last whole line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from time import monotonic, time

from anabranch._core import VERSION
from anabranch.deploy.control import policy
from anabranch.deploy.control.as_wired import Placement
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.log import Field
from anabranch.deploy.control.network import Interface, Network
from anabranch.deploy.control.policy import SwitchPlan
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.openflow.port import Port, PortCounters
from anabranch.files.errors import AnabranchError

FORMAT = 1
"""Version of the records; a reader refuses others."""

Decision = dict[str, dict[str, list[list[object]]]]
"""Members of each planned group, by switch and leaf: neighbour, number among parallel links, number of the port at the
switch, weight."""


class Recorder:
    """A file that records are added to, each at once."""

    def __init__(self, path: Path) -> None:
        """Makes the file, which only its owner may read.

        Raises:
            AnabranchError: it exists, or cannot be written.

        """
        self.path = path
        self._on_end: Callable[[str], None] = lambda _: None
        self._decided: Decision = {}
        self._is_over = False
        try:
            path.touch(mode=0o600, exist_ok=False)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise AnabranchError(f"{path}: record: {error.strerror}; give the name of a new file") from None

    def begin(self, file: FabricFile, events: Events) -> None:
        """Begins with a fabric file, or goes on with another."""
        self._on_end = lambda error: events.report("recording-ended", error=error)
        self._decided = {}
        about = {"format": FORMAT, "version": VERSION, "time_s": time(), "file": file.file, "text": file.text}
        self.write("fabric", monotonic(), about)
        if self.event not in events.listeners:
            events.listeners.append(self.event)

    def event(self, kind: str, switch: str | None, fields: Mapping[str, Field]) -> None:
        """Records an event of the log, for whoever reads the file."""
        self.write("event", monotonic(), {"event": kind, "switch": switch, "fields": fields})

    def plan(self, installed: Mapping[tuple[str, str], Mapping[int, float]]) -> None:
        """Records that a plan is about to be made, and the shares that switches were read to hold."""
        shares = [[*pair, list(by_port.items())] for pair, by_port in installed.items() if by_port]
        self.write("plan", monotonic(), {"installed": shares})

    def decided(self, topology: Topology, plans: Mapping[str, SwitchPlan], numbers: Mapping[int, int]) -> None:
        """Records the groups that are not as they were."""
        now = decision(topology, plans, numbers)
        self.write("decided", monotonic(), {"changed": changed(self._decided, now)})
        self._decided = now

    def write(self, record: str, time_s: float, fields: Mapping[str, object]) -> None:
        """Adds a record; after an error none is added any more, and the controller goes on."""
        if self._is_over:
            return
        line = json.dumps({"record": record, "t": time_s, **fields}, separators=(",", ":"), default=_plain)
        try:
            self._file.write(line.encode() + b"\n")
        except OSError as error:
            self._is_over = True
            self._on_end(f"{self.path}: {error.strerror}")

    def close(self) -> None:
        """Ends the file."""
        self._is_over = True
        self._file.close()


def check(file: FabricFile) -> None:
    """Checks that plans for a fabric follow from what is recorded.

    Raises:
        AnabranchError: they follow the tables of switches, too.

    """
    if policy.build(file.weights, file).reads_tables:
        problem = "its plans follow the tables of switches, which are not recorded"
        raise AnabranchError(
            f"{file.file}: policy.weights: {file.weights}: {problem}; leave out --record, or take another"
        )


class RecordedNetwork(Network):
    """A network that records everything that it takes; its clock stands still during each call."""

    def __init__(self, file: FabricFile, events: Events, recorder: Recorder) -> None:
        """Begins as the file has it."""
        self._recorder = recorder
        self._now_s = monotonic()
        super().__init__(file, events, lambda: self._now_s)

    def described(self, switch: str, ports: Iterable[Port]) -> bool:
        """Records and takes a description (`Network.described`)."""
        every = list(ports)
        self._record("described", switch, every)
        return super().described(switch, every)

    def port_status(self, switch: str, port: Port, how: str) -> bool:
        """Records and takes a change (`Network.port_status`)."""
        self._record("port_status", switch, port, how)
        return super().port_status(switch, port, how)

    def interfaces(self, switches: Iterable[str], described: Iterable[Interface]) -> bool:
        """Records and takes rows (`Network.interfaces`)."""
        names, every = list(switches), list(described)
        self._record("interfaces", names, every)
        return super().interfaces(names, every)

    def measured(self, switch: str, counters: Sequence[PortCounters]) -> None:
        """Records and takes a reading (`Network.measured`)."""
        self._record("measured", switch, counters)
        super().measured(switch, counters)

    def measure(self) -> bool:
        """Records and ends an interval (`Network.measure`)."""
        self._record("measure")
        return super().measure()

    def unmeasured(self, switch: str) -> None:
        """Records and forgets (`Network.unmeasured`)."""
        self._record("unmeasured", switch)
        super().unmeasured(switch)

    def refresh(self) -> bool:
        """Records and judges damped links (`Network.refresh`)."""
        self._record("refresh")
        return super().refresh()

    def rewire(self, placement: Placement) -> None:
        """Records and takes where links are (`Network.rewire`)."""
        self._record("rewire", placement)
        super().rewire(placement)

    def _record(self, call: str, *given: object) -> None:
        self._now_s = monotonic()
        self._recorder.write(call, self._now_s, {"given": given})


def decision(topology: Topology, plans: Mapping[str, SwitchPlan], numbers: Mapping[int, int]) -> Decision:
    """What plans decide: the members of each group with their weights.

    Args:
        topology: the fabric as built.
        plans: plan of each switch.
        numbers: the switch's number of each port.

    """
    return {
        name: {
            group.leaf: [
                [
                    topology.ends[member.port].neighbour,
                    topology.ends[member.port].parallel,
                    numbers.get(member.port),
                    member.weight,
                ]
                for member in group.members
            ]
            for group in plan.groups
        }
        for name, plan in plans.items()
    }


def changed(before: Decision, now: Decision) -> Decision:
    """The groups that are not as they were."""
    groups = {
        switch: {leaf: members for leaf, members in towards.items() if before.get(switch, {}).get(leaf) != members}
        for switch, towards in now.items()
    }
    return {switch: towards for switch, towards in groups.items() if towards}


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    assert isinstance(value, frozenset), value
    return sorted(value)
