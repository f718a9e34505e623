"""A trace of Perfetto, written packet by packet: tracks, slices, instants, counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

SEQUENCE = 1
"""Number of the one writer of the trace."""
PACKETS_AT_ONCE = 4096
"""Packets that wait to be written: a trace is the concatenation of its parts."""

Value = bool | int | float | str


class Stream:
    """A trace that is being written. Tracks are numbered in the order in which they are made."""

    def __init__(self, file: BinaryIO, names: Iterable[str]) -> None:
        """Begins a trace; `names` are all names of arguments, which it has once."""
        self._file = file
        self._part = proto.Trace()
        self._tracks = 0
        self._names = {name: number for number, name in enumerate(names, 1)}
        packet = self._packet()
        packet.sequence_flags = proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        for name, number in self._names.items():
            packet.interned_data.debug_annotation_names.add(iid=number, name=name)

    def track(self, name: str, parent: int = 0, rank: int = 0, *, ordered: bool = False) -> int:
        """Makes a track and returns its number. `rank` is its position below an `ordered` parent."""
        return int(self._described(name, parent, rank, ordered=ordered).uuid)

    def counter(self, name: str, parent: int, rank: int = 0, *, unit: str, alike: str) -> int:
        """Makes a track of a counter; counters that are `alike` are drawn on one scale."""
        track = self._described(name, parent, rank)
        track.counter.unit_name = unit
        track.counter.y_axis_share_key = alike
        return int(track.uuid)

    def _described(self, name: str, parent: int, rank: int, *, ordered: bool = False) -> Any:
        self._tracks += 1
        track = self._packet().track_descriptor
        track.uuid, track.name = self._tracks, name
        if parent:
            track.parent_uuid = parent
            track.sibling_order_rank = rank
        if ordered:
            track.child_ordering = proto.TrackDescriptor.EXPLICIT
        return track

    def slice(
        self,
        track: int,
        begin_ns: int,
        end_ns: int,
        name: str,
        arguments: Mapping[str, Value | None],
        arrows_from: int | None = None,
    ) -> None:
        """Writes a slice; `arrows_from` numbers an arrow that begins here."""
        event = self._event(track, begin_ns, proto.TrackEvent.TYPE_SLICE_BEGIN, name, arguments)
        if arrows_from is not None:
            event.flow_ids.append(arrows_from)
        self._event(track, end_ns, proto.TrackEvent.TYPE_SLICE_END)

    def instant(
        self,
        track: int,
        at_ns: int,
        name: str,
        arguments: Mapping[str, Value | None],
        arrow_to: int | None = None,
    ) -> None:
        """Writes a moment; `arrow_to` numbers the arrow that ends here."""
        event = self._event(track, at_ns, proto.TrackEvent.TYPE_INSTANT, name, arguments)
        if arrow_to is not None:
            event.terminating_flow_ids.append(arrow_to)

    def count(self, track: int, at_ns: int, value: float) -> None:
        """Writes the value of a counter from a time on."""
        event = self._event(track, at_ns, proto.TrackEvent.TYPE_COUNTER)
        if isinstance(value, int):
            event.counter_value = value
        else:
            event.double_counter_value = value

    def _event(
        self, track: int, at_ns: int, kind: int, name: str = "", arguments: Mapping[str, Value | None] | None = None
    ) -> Any:
        packet = self._packet()
        packet.timestamp = at_ns
        packet.sequence_flags = proto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        if name:
            event.name = name
        for key, value in (arguments or {}).items():
            if value is not None:
                _annotate(event.debug_annotations.add(name_iid=self._names[key]), value)
        return event

    def _packet(self) -> Any:
        if len(self._part.packet) >= PACKETS_AT_ONCE:
            self.flush()
        packet = self._part.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet

    def flush(self) -> None:
        """Writes what waits."""
        self._file.write(self._part.SerializeToString(deterministic=True))
        self._part.Clear()


def _annotate(annotation: Any, value: Value) -> None:
    if isinstance(value, bool):
        annotation.bool_value = value
    elif isinstance(value, int):
        annotation.int_value = value
    elif isinstance(value, float):
        annotation.double_value = value
    else:
        annotation.string_value = value
