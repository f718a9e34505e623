"""Plays the simulator's own flows over real TCP between the hosts of a lab."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic.child import Child
from anabranch.lab.traffic.flow_results import FlowResults, results

DRAIN_NS = 10_000_000_000
"""How long after the last start a run lasts, where nothing else is said: as `[stop]` has it."""
SYSCTLS = {"net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_slow_start_after_idle": "0"}
"""A connection must not start with what an earlier one learnt of the path (tcp_metrics), and one that rested keeps its
window, as in the simulator."""


@dataclass(frozen=True)
class Endpoint:
    """A host as the player sees it."""

    namespace: str
    """A name that `ip netns` gave, or the file of a namespace."""
    address: str


@dataclass(frozen=True)
class Options:
    """How flows are carried."""

    persistent: bool = False
    """Flows between two hosts use idle connections again; otherwise each has its own, whose set-up its FCT includes."""
    connections_per_pair: int = 0
    """Opened for each pair before the first flow; for `persistent`."""
    congestion_control: str = "cubic"
    """Congestion control, as in `sysctl net.ipv4.tcp_available_congestion_control`."""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Settings of every host, on top of `SYSCTLS`, as in {"net.ipv4.tcp_recovery": "0"}; put back after the run."""
    end_ns: float | None = None
    """When it ends, whatever is unfinished then; 10 s after the last start where it is not given."""


OPTIONAL = ("source_port", "mark", "back_mark")
NUMBERS = ("src", "dst", "size_bytes", *OPTIONAL)

Watch = Callable[[int, int, int], None]
"""Told now and then how many flows have started and are over, and how many there are."""

Action = tuple[float, Callable[[], None]]
"""Action during a run: nanoseconds after the first moment of the list, and what to do."""


def play(
    endpoints: Sequence[Endpoint],
    flows: Mapping[str, Any],
    options: Options = Options(),
    *,
    watch: Watch | None = None,
    actions: Sequence[Action] = (),
    every_ns: int = 0,
    sample: Callable[[int], None] | None = None,
) -> FlowResults:
    """Plays flows and waits for their end.

    Args:
        endpoints: Hosts, by the numbers that `src` and `dst` have.
        flows: Columns `flow`, `src`, `dst`, `size_bytes`, `start_ns`: `Scenario.flows()`, or a frame of such; with
            `source_port` a flow's own connection has that port, so that switches can know it beforehand (0: any); with
            `mark` and `back_mark` its sender's and its receiver's packets have that SO_MARK (0: none), but for those
            that set the connection up.
        options: How they are carried.
        watch: Told how far it is.
        actions: What else happens meanwhile, such as a link that fails; called in this thread.
        every_ns: Time between two calls of `sample`.
        sample: Called with the time since the first moment, also at that and at the end.

    Raises:
        AnabranchError: flows that wait for others (they have no start), no privilege, or a player that died.

    """
    columns = _checked(flows, len(endpoints))
    starts: list[int] = columns["start_ns"]
    end_ns = options.end_ns if options.end_ns is not None else max(starts, default=0) + DRAIN_NS
    specification = {
        "hosts": [{"namespace": one.namespace, "address": one.address} for one in endpoints],
        "flows": {name: columns[name] for name in (*NUMBERS, "start_ns")},
        "end_ns": round(end_ns),
        "persistent": options.persistent,
        "connections_per_pair": options.connections_per_pair if options.persistent else 0,
        "congestion_control": options.congestion_control,
        "sysctls": SYSCTLS | dict(options.sysctls),
    }
    to_do = sorted(actions, key=lambda action: action[0])
    with Child("anabranch.lab.traffic.player", "the traffic's player") as player:
        player.put(specification)
        began_ns = int(player.get()["began_ns"])
        answer: dict[str, Any] = {}
        next_sample_ns = 0
        while "result" not in answer:
            now_ns = time.monotonic_ns() - began_ns
            while to_do and to_do[0][0] <= now_ns:
                to_do.pop(0)[1]()
            if sample is not None and now_ns >= next_sample_ns:
                sample(now_ns)
                next_sample_ns = max(next_sample_ns + every_ns, now_ns)
            waits_ns = [to_do[0][0]] if to_do else []
            waits_ns += [next_sample_ns] if sample is not None else []
            answer = player.get(min(waits_ns) - (time.monotonic_ns() - began_ns) if waits_ns else None)
            if watch is not None and "over" in answer:
                watch(answer["started"], answer["over"], len(starts))
        if sample is not None:
            sample(time.monotonic_ns() - began_ns)
    return results(columns, began_ns, answer["result"])


def refuse_waiting(flows: Mapping[str, Any]) -> None:
    """Refuses flows that have no start of their own.

    Raises:
        AnabranchError: there are some.

    """
    if np.isnan(np.asarray(flows["start_ns"], dtype=np.float64)).any():
        raise AnabranchError(
            "traffic: flows that wait for others to end are played by the simulator only; "
            "give poisson, once, incast, flow-list or capture"
        )


def _checked(flows: Mapping[str, Any], hosts: int) -> dict[str, list[int]]:
    refuse_waiting(flows)
    starts = np.asarray(flows["start_ns"], dtype=np.float64)
    columns = {name: np.asarray(flows[name]).astype(np.int64) for name in NUMBERS if name in flows}
    for name in OPTIONAL:
        columns.setdefault(name, np.zeros(len(starts), np.int64))
    if len(starts) and max(columns["src"].max(), columns["dst"].max()) >= hosts:
        raise AnabranchError(
            f"traffic: a flow names a host beyond the {hosts} there are; give the scenario of this lab"
        )
    number = flows["flow"] if "flow" in flows else range(len(starts))
    lists = {name: column.tolist() for name, column in columns.items()}
    return lists | {"start_ns": starts.round().astype(np.int64).tolist(), "flow": np.asarray(number).tolist()}
