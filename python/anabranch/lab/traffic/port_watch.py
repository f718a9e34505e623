"""The ports of a lab while traffic runs, as the simulator's table of ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import polars as pl

from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.fabric.blueprint import End
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.traffic.queue_counters import QueueCounters, QueueReader

CHECK_SEQUENCE_BYTES = 4
"""Check sequence of an Ethernet frame; Linux counts frames without."""
GAP_BYTES = 20
"""Preamble and gap (IEEE 802.3 clause 4.4.2)."""

COLUMNS = (
    ("port", "integer", "The sending end of one direction of a link."),
    ("from", "integer", "Node that sends."),
    ("to", "integer", "Node that receives."),
    ("start_ns", "real", "Start of the interval."),
    ("length_ns", "real", "Length of the interval."),
    ("sent_bytes", "integer", "Frames that left the queue in it, without preamble and gap."),
    ("sent_packets", "integer", "Frames that left the queue in it."),
    ("dropped_packets", "integer", "Frames refused for want of room or by RED."),
    ("marked_packets", "integer", "Congestion marks set: none, the queue of a lab drops only."),
    ("backlog_mean_bytes", "real", "Mean of the bytes waiting at the interval's ends."),
    ("backlog_max_bytes", "integer", "The larger of the two."),
    ("utilization", "real", "Fraction of the interval in which the port, at its rate as built, was sending."),
)


class PortWatch:
    """Reads all queues of a lab at once, again and again. `end_of` says which end of a cable a port is."""

    def __init__(self, lab: Lab, topology: Mapping[str, Any], end_of: Callable[[int], End]) -> None:
        self._topology = topology
        self._ends = [end_of(port) for port in range(len(topology["ports"]["from"]))]
        self._namespaces = [
            lab.hosts[end.node].namespace if end.node in lab.hosts else lab.blueprint.switch_namespace
            for end in self._ends
        ]
        self._stack = ExitStack()
        self._readers: dict[str, QueueReader] = {}
        self._times_ns: list[int] = []
        self._samples: list[list[QueueCounters]] = []

        self._received: list[int] = []
        self.lost_packets = 0
        """Frames that left a queue and did not reach the other end, known when the watch is over."""

    def __enter__(self) -> PortWatch:
        devices: dict[str, list[str]] = {}
        for namespace, end in zip(self._namespaces, self._ends, strict=True):
            devices.setdefault(namespace, []).append(end.device)
        for namespace, names in devices.items():
            self._readers[namespace] = self._stack.enter_context(QueueReader(namespace, names))
        self._received = self._arrived()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None and self._samples:
            received = sum(self._arrived()) - sum(self._received)
            left = [last.sent_packets - first.sent_packets for first, last in zip(*self._extremes(), strict=True)]
            self.lost_packets = max(0, sum(left) - received)
        self._stack.close()

    def sample(self, at_ns: int) -> None:
        """Reads them now."""
        samples = {namespace: reader.read() for namespace, reader in self._readers.items()}
        self._times_ns.append(at_ns)
        self._samples.append(
            [samples[namespace][end.device] for namespace, end in zip(self._namespaces, self._ends, strict=True)]
        )

    def _extremes(self) -> tuple[list[QueueCounters], list[QueueCounters]]:
        return self._samples[0], self._samples[-1]

    def _arrived(self) -> list[int]:
        """Packets received by each end so far."""
        arrived: dict[tuple[str, str], int] = {}
        for namespace in self._readers:
            with inside(namespace):
                for line in Path("/proc/thread-self/net/dev").read_text(encoding="ascii").splitlines()[2:]:
                    device, _, numbers = line.partition(":")
                    arrived[namespace, device.strip()] = int(numbers.split()[1])
        return [arrived[namespace, end.device] for namespace, end in zip(self._namespaces, self._ends, strict=True)]

    def frame(self) -> pl.DataFrame:
        """A row per port and interval between two samples."""
        counters = np.array(self._samples, dtype=np.int64).reshape(-1, len(self._ends), len(QueueCounters._fields))
        times = np.array(self._times_ns, dtype=np.float64)
        intervals, ports = max(len(times) - 1, 0), len(self._ends)
        sent_bytes, sent_packets, dropped = (np.diff(counters[:, :, index], axis=0) for index in range(3))
        sent_bytes = sent_bytes + CHECK_SEQUENCE_BYTES * sent_packets
        backlog = counters[:, :, 3]
        length = np.repeat(np.diff(times), ports)
        rate = np.tile([end.rate_bps for end in self._ends], intervals)
        busy_bits = 8.0 * (sent_bytes + GAP_BYTES * sent_packets).ravel()
        where = self._topology["ports"]
        columns = {
            "port": np.tile(np.arange(ports, dtype=np.uint64), intervals),
            "from": np.tile(np.asarray(where["from"], dtype=np.uint64), intervals),
            "to": np.tile(np.asarray(where["to"], dtype=np.uint64), intervals),
            "start_ns": np.repeat(times[:intervals], ports),
            "length_ns": length,
            "sent_bytes": sent_bytes.ravel().astype(np.uint64),
            "sent_packets": sent_packets.ravel().astype(np.uint64),
            "dropped_packets": dropped.ravel().astype(np.uint64),
            "marked_packets": np.zeros(intervals * ports, dtype=np.uint64),
            "backlog_mean_bytes": (backlog[1:] + backlog[:-1]).ravel() / 2,
            "backlog_max_bytes": np.maximum(backlog[1:], backlog[:-1]).ravel().astype(np.uint64),
            "utilization": busy_bits / np.maximum(rate * length / 1e9, 1e-9),
        }
        return pl.DataFrame(columns)
