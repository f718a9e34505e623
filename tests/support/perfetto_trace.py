"""A trace of Perfetto, read by its own protobuf classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


@dataclass
class Slice:
    """A slice of a track, or an instant, which ends when it begins."""

    track: int
    name: str
    begin_ns: int
    end_ns: int
    arguments: dict[str, Any]
    arrows_from: list[int] = field(default_factory=list)
    arrows_to: list[int] = field(default_factory=list)


class Trace:
    """Tracks with their paths of names, slices, instants, and values of counters."""

    def __init__(self, file: Path) -> None:
        trace = proto.Trace()
        trace.ParseFromString(file.read_bytes())
        self.descriptors: dict[int, Any] = {}
        self.slices: list[Slice] = []
        self.instants: list[Slice] = []
        self.counts: list[tuple[int, int, float]] = []
        names: dict[int, str] = {}
        open_slices: dict[int, list[Slice]] = {}
        for packet in self._by_time(trace.packet):
            names |= {one.iid: one.name for one in packet.interned_data.debug_annotation_names}
            if packet.HasField("track_descriptor"):
                assert packet.track_descriptor.uuid not in self.descriptors, "a track is described once"
                self.descriptors[packet.track_descriptor.uuid] = packet.track_descriptor
            if not packet.HasField("track_event"):
                continue
            assert packet.HasField("timestamp")
            event, at = packet.track_event, packet.timestamp
            assert event.track_uuid in self.descriptors, "a track is described before it is used"
            arguments = {names[one.name_iid]: _value(one) for one in event.debug_annotations}
            made = Slice(event.track_uuid, event.name, at, at, arguments)
            made.arrows_from, made.arrows_to = list(event.flow_ids), list(event.terminating_flow_ids)
            if event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
                stack = open_slices.setdefault(event.track_uuid, [])
                assert not stack, "slices of a track do not overlap"
                stack.append(made)
            elif event.type == proto.TrackEvent.TYPE_SLICE_END:
                done = open_slices[event.track_uuid].pop()
                done.end_ns = at
                self.slices.append(done)
            elif event.type == proto.TrackEvent.TYPE_INSTANT:
                self.instants.append(made)
            else:
                assert event.type == proto.TrackEvent.TYPE_COUNTER
                value = event.counter_value if event.HasField("counter_value") else event.double_counter_value
                self.counts.append((event.track_uuid, at, value))
        assert not any(open_slices.values()), "every slice ends"

    @staticmethod
    def _by_time(packets: Any) -> Iterator[Any]:
        """Packets in the order in which Perfetto takes them: by time, and of one time as they are written."""
        yield from (packet for packet in packets if not packet.HasField("track_event"))
        yield from sorted(
            (packet for packet in packets if packet.HasField("track_event")), key=lambda one: one.timestamp
        )

    def path(self, track: int) -> str:
        """Names from the outermost group to the track."""
        described = self.descriptors[track]
        above = f"{self.path(described.parent_uuid)}/" if described.HasField("parent_uuid") else ""
        return above + str(described.name)


def _value(annotation: Any) -> Any:
    return getattr(annotation, annotation.WhichOneof("value"))
