"""The controller's metrics, in a registry of their own, for Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from anabranch.deploy.control.cable import LOSING, MISWIRED, UNCHECKED, UNHEARD
from anabranch.deploy.control.log import Field
from anabranch.deploy.control.state import SECONDARY, Snapshot

CONTENT_TYPE = CONTENT_TYPE_LATEST
BEAT_S = 0.1
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """Counts what is told, and reads the rest from a snapshot when it is asked."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._names = frozenset(switch.name for switch in snapshot().switches)
        self._snapshot = snapshot
        self._events = Counter(
            "anabranch_events", "What happened, by kind and switch", ["kind", "switch"], registry=self.registry
        )
        self._commit = Histogram(
            "anabranch_commit_seconds",
            "From the sending of a set of changes to the switch's confirmation",
            ["switch"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._lag = Histogram(
            "anabranch_port_event_to_commit_seconds",
            "From a port's change of state, as told by a switch, to the new split in place",
            ["switch"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._loop = Histogram(
            "anabranch_loop_lag_seconds", "How late the controller's loop runs", buckets=SECONDS, registry=self.registry
        )
        self.registry.register(_Fabric(snapshot))

    def listen(self, kind: str, switch: str | None, fields: Mapping[str, Field]) -> None:
        """Takes an event: a listener of `Events`."""
        # An unknown switch chooses its own name, which must not become a label.
        name = self._known(switch)
        self._events.labels(kind, name).inc()
        if kind == "committed":
            for histogram, key in ((self._commit, "duration_s"), (self._lag, "lag_s")):
                value = fields.get(key)
                if isinstance(value, int | float):
                    histogram.labels(name).observe(value)

    async def watch_loop(self) -> None:
        """Measures the loop it runs in, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self._loop.observe(max(0.0, loop.time() - due))

    def text(self) -> bytes:
        """All of them as Prometheus reads them. May be called in any thread."""
        return generate_latest(self.registry)

    def _known(self, switch: str | None) -> str:
        if switch is None:
            return ""
        if switch not in self._names:
            # The file may have been read anew.
            self._names = frozenset(known.name for known in self._snapshot().switches)
        return switch if switch in self._names else ""


class _Fabric(Collector):
    """Metrics of a snapshot."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        snapshot = self._snapshot()
        yield GaugeMetricFamily("anabranch_converged", "All connected and as planned", value=snapshot.converged)
        yield GaugeMetricFamily("anabranch_start_time_seconds", "Unix time of the start", value=snapshot.started_s)
        yield GaugeMetricFamily(
            "anabranch_file_rejected", "The file was changed and could not be taken on", value=bool(snapshot.file_error)
        )
        yield CounterMetricFamily("anabranch_plans", "Plans made", value=snapshot.plans)
        yield GaugeMetricFamily("anabranch_plan_seconds", "Time the last plan took", value=snapshot.plan_duration_s)
        yield GaugeMetricFamily(
            "anabranch_measured_time_seconds", "Unix time of the last reading of counters", value=snapshot.measured_s
        )
        yield from _switches(snapshot)
        yield from _links(snapshot)
        yield from _cables(snapshot)
        yield from _members(snapshot)


def _switches(snapshot: Snapshot) -> Iterator[Metric]:
    gauges = {
        "connected": "Whether the switch is connected",
        "differences": "Changes that are planned and not in the switch",
        "refusing": "Whether the switch refused the planned changes",
        "flows": "Flows of ours in the switch",
        "groups": "Groups of ours in the switch",
        "meters": "Meters of ours in the switch",
    }
    counters = {
        "connects": "How often the switch was reached",
        "commits": "Sets of changes that the switch took",
        "changes": "Flows, groups and meters changed by them",
    }
    for name, meaning in gauges.items():
        gauge = GaugeMetricFamily(f"anabranch_switch_{name}", meaning, labels=["switch"])
        for switch in snapshot.switches:
            gauge.add_metric([switch.name], float(getattr(switch, "refused" if name == "refusing" else name)))
        yield gauge
    primary = GaugeMetricFamily(
        "anabranch_switch_primary", "Whether this controller may change the switch", labels=["switch"]
    )
    for switch in snapshot.switches:
        primary.add_metric([switch.name], float(switch.role != SECONDARY))
    yield primary
    for name, meaning in counters.items():
        counter = CounterMetricFamily(f"anabranch_switch_{name}", meaning, labels=["switch"])
        for switch in snapshot.switches:
            counter.add_metric([switch.name], float(getattr(switch, name)))
        yield counter


def _links(snapshot: Snapshot) -> Iterator[Metric]:
    labels = ["a", "b", "parallel"]
    up = GaugeMetricFamily("anabranch_link_up", "Whether plans use the link", labels=labels)
    rate = GaugeMetricFamily("anabranch_link_rate_bps", "Rate of the link", labels=labels)
    load = GaugeMetricFamily(
        "anabranch_link_load_bps", "What left towards the neighbour", labels=["from", "to", "parallel"]
    )
    loss = GaugeMetricFamily(
        "anabranch_link_lost_share",
        "Share of what left towards the neighbour and did not arrive",
        labels=["from", "to", "parallel"],
    )
    for link in snapshot.links:
        named = [link.a, link.b, str(link.parallel)]
        up.add_metric(named, float(link.up))
        rate.add_metric(named, float(link.rate_bps))
        for source, target, load_bps in ((link.a, link.b, link.load_bps[0]), (link.b, link.a, link.load_bps[1])):
            if load_bps is not None:
                load.add_metric([source, target, str(link.parallel)], load_bps)
        for source, target, share in ((link.a, link.b, link.lost_share[0]), (link.b, link.a, link.lost_share[1])):
            loss.add_metric([source, target, str(link.parallel)], share)
    yield from (up, rate, load, loss)


def _cables(snapshot: Snapshot) -> Iterator[Metric]:
    labels = ["switch", "neighbour", "parallel"]
    meanings = {
        MISWIRED: "Whether the port hears another neighbour than the file says",
        UNHEARD: "Whether the port hears nothing of the neighbour that the file says",
        LOSING: "Whether frames of the neighbour are lost on their way to the port",
    }
    for verdict, meaning in meanings.items():
        gauge = GaugeMetricFamily(f"anabranch_link_{verdict}", meaning, labels=labels)
        for cable in snapshot.cables:
            if cable.verdict != UNCHECKED:
                gauge.add_metric([cable.switch, cable.neighbour, str(cable.parallel)], float(cable.verdict == verdict))
        yield gauge


def _members(snapshot: Snapshot) -> Iterator[Metric]:
    labels = ["switch", "leaf", "neighbour", "parallel"]
    weight = GaugeMetricFamily("anabranch_member_weight", "Weight as planned", labels=labels)
    planned = GaugeMetricFamily("anabranch_member_wanted_share", "Share as planned", labels=labels)
    measured = GaugeMetricFamily(
        "anabranch_member_measured_share", "Share of the group's bytes, or packets", labels=labels
    )
    for group in snapshot.groups:
        for member in group.members:
            named = [group.switch, group.leaf, member.neighbour, str(member.parallel)]
            weight.add_metric(named, float(member.weight))
            planned.add_metric(named, member.wanted_share)
            if member.measured_share is not None:
                measured.add_metric(named, member.measured_share)
    yield from (weight, planned, measured)
