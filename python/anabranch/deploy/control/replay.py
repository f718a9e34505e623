"""Recordings played back: the same network and policy are given what was recorded, and decide again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anabranch.deploy.control import file as fabric_file
from anabranch.deploy.control import policy
from anabranch.deploy.control.as_wired import Placement
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.network import Interface, Network
from anabranch.deploy.control.policy import Policy, SwitchPlan
from anabranch.deploy.control.recording import FORMAT, Decision, changed, decision
from anabranch.deploy.openflow.port import Port, PortCounters
from anabranch.files.errors import AnabranchError

HINT = "is it a file that `anabranch control --record` has made?"
_GIVEN: Mapping[str, Callable[..., tuple[Any, ...]]] = {
    "described": lambda switch, ports: (switch, [Port(**port) for port in ports]),
    "port_status": lambda switch, port, how: (switch, Port(**port), how),
    "interfaces": lambda switches, rows: (switches, [Interface(**row) for row in rows]),
    "measured": lambda switch, counters: (switch, [PortCounters(**one) for one in counters]),
    "measure": lambda: (),
    "unmeasured": lambda switch: (switch,),
    "refresh": lambda: (),
    "rewire": lambda one: (Placement(tuple(one["at"]), frozenset(one["absent"]), tuple(map(tuple, one["unused"]))),),
}
"""Arguments of each call of a network, made of a record's."""


@dataclass
class Replay:
    """Result of playing a recording back."""

    records: int = 0
    plans: int = 0
    span_s: float = 0.0
    """Time from the first record to the last."""
    is_cut: bool = False
    """Whether the last line was not whole, and is left out."""
    differences: list[str] = field(default_factory=list)
    """Sentence for each group that is decided otherwise now, with the line of the record."""


class _Player:
    """The controller's network and policy, with the recording's clock."""

    def __init__(self, path: Path, number: int, text: str, name: str) -> None:
        try:
            file = fabric_file.parse(text, name, has_keys=False)
        except AnabranchError as error:
            raise AnabranchError(f"{path}:{number}: {error}") from None
        self._now_s = 0.0
        self.topology = file.topology
        self._network = Network(file, Events(), lambda: self._now_s)
        self._policy: Policy = policy.build(file.weights, file)
        self._plans: Mapping[str, SwitchPlan] = {}
        self.decided: Decision = {}

    def call(self, record: Mapping[str, Any]) -> None:
        """Gives the network what it was given."""
        self._now_s = record["t"]
        getattr(self._network, record["record"])(*_GIVEN[record["record"]](*record["given"]))

    def plan(self, installed: list[Any]) -> None:
        """Makes a plan."""
        shares = {(switch, leaf): dict(by_port) for switch, leaf, by_port in installed}
        view = replace(self._network.view({}), installed=shares)
        try:
            self._plans = dict(self._policy.plan(view))
        except AnabranchError:
            # What is installed stays, as in the controller.
            return

    def decide(self) -> Decision:
        """The groups that are not as they were before the last plan."""
        before = self.decided
        self.decided = decision(self.topology, self._plans, self._network.view({}).openflow_port)
        return changed(before, self.decided)


def replay(path: Path) -> Replay:
    """Plays a recording back, and compares each decision with the recorded one.

    Raises:
        AnabranchError: the file cannot be read, or is no recording of this format.

    """
    result = Replay()
    player: _Player | None = None
    first_s = 0.0
    for number, record in _records(path, result):
        try:
            kind, now_s = record["record"], record["t"]
            if kind == "fabric":
                if record["format"] != FORMAT:
                    problem = f"this version reads {FORMAT}; take anabranch {record['version']}"
                    raise AnabranchError(f"{path}:{number}: format: {record['format']}: {problem}")
                player = _Player(path, number, record["text"], record["file"])
            elif player is None:
                raise AnabranchError(f"{path}:{number}: {kind}: no fabric before it; {HINT}")
            elif kind == "plan":
                player.plan(record["installed"])
            elif kind == "decided":
                result.plans += 1
                about = f"{path}:{number}: plan {result.plans}, {now_s - first_s:.3f} s after the start"
                result.differences += _compared(about, record["changed"], player.decide())
            elif kind != "event":
                player.call(record)
        except AnabranchError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise AnabranchError(f"{path}:{number}: no such record ({error}); {HINT}") from None
        first_s = first_s or now_s
        result.records += 1
        result.span_s = now_s - first_s
    if player is None:
        raise AnabranchError(f"{path}: no record; {HINT}")
    return result


def _records(path: Path, result: Replay) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Whole lines with their numbers."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    result.is_cut = True
                    return
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    record = None
                if not isinstance(record, dict):
                    raise AnabranchError(f"{path}:{number}: no JSON object; {HINT}")
                yield number, record
    except OSError as error:
        raise AnabranchError(f"{path}: {error.strerror}; {HINT}") from None


def _compared(about: str, recorded: Decision, now: Decision) -> list[str]:
    """A sentence for each group that was decided otherwise."""
    pairs = {(switch, leaf): None for one in (recorded, now) for switch, towards in one.items() for leaf in towards}
    lines = []
    for switch, leaf in pairs:
        was, is_now = (one.get(switch, {}).get(leaf) for one in (recorded, now))
        if was != is_now:
            lines.append(f"{about}: {switch} to {leaf}: {_text(was)} recorded, {_text(is_now)} now")
    return lines


def _text(members: list[list[object]] | None) -> str:
    if members is None:
        return "as before"
    words = [f"{neighbour}{f'#{parallel}' if parallel else ''} {weight}" for neighbour, parallel, _, weight in members]
    return ", ".join(words) or "no path"
