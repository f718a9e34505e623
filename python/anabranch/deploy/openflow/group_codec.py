"""Groups as bytes: changes (OpenFlow 1.5.1 section 7.3.4.3), description (7.3.5.8) and counters (7.3.5.7).

`selection_method` is Netronome's property of a group: Open vSwitch's `nicira-ext.h`, `ntr_group_prop_selection_method`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from anabranch.deploy.openflow.action import ANY
from anabranch.deploy.openflow.action_list import decode_actions, encode_actions
from anabranch.deploy.openflow.blocks import blocks, pad, unpack
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.framing import LONGEST
from anabranch.deploy.openflow.modification import GroupMod
from anabranch.deploy.openflow.oxm import decode_fields, encode_fields
from anabranch.deploy.openflow.port import BucketCounters
from anabranch.deploy.openflow.tables import ALL, FAST_FAILOVER, INDIRECT, SELECT, Bucket, Group, Selection
from anabranch.files.errors import AnabranchError

ALL_GROUPS = 0xFFFFFFFC
_COMMANDS = {"add": 0, "modify": 1, "delete": 2}
_KINDS = (ALL, SELECT, INDIRECT, FAST_FAILOVER)
_MOD = struct.Struct(">HBxIH2xI")
_ALL_BUCKETS = 0xFFFFFFFF
_BUCKET = struct.Struct(">HHI")
_WEIGHT, _WATCH_PORT, _WATCH_GROUP, _EXPERIMENTER = 0, 1, 2, 0xFFFF
_WEIGHT_LAYOUT = struct.Struct(">HHH2x")
_WATCH_LAYOUT = struct.Struct(">HHI")
_NETRONOME, _SELECTION_METHOD = 0x154D, 1
_EXPERIMENTER_LAYOUT = struct.Struct(">HHII")
_SELECTION = struct.Struct(">HHII4x16sQ")
_METHOD_LONGEST = 15
_DESCRIPTION = struct.Struct(">HBxIH6x")
_COUNTERS = struct.Struct(">H2xII4xQQII")
_BUCKET_COUNTERS = struct.Struct(">QQ")
_REQUEST = struct.Struct(">I4x")


def encode_group_mod(mod: GroupMod) -> bytes:
    """Body of the message; a deletion needs no buckets."""
    group = mod.group
    if group.kind not in _KINDS:
        raise AnabranchError(f"group {group.group_id:#x}: kind {group.kind}: unknown; one of {', '.join(_KINDS)}")
    buckets, properties = b"", b""
    kind = _KINDS.index(group.kind)
    if mod.command == "delete":
        kind = 0
    else:
        buckets = b"".join([_encode_bucket(bucket, group.kind) for bucket in group.buckets])
        properties = (b"" if group.selection is None else _encode_selection(group.selection)) + group.foreign
    if len(buckets) > LONGEST:
        raise AnabranchError(f"group {group.group_id:#x}: {len(group.buckets)} buckets: too long; use fewer")
    head = _MOD.pack(_COMMANDS[mod.command], kind, group.group_id, len(buckets), _ALL_BUCKETS)
    return head + buckets + properties


def group_request(group_id: int) -> bytes:
    """Encodes the request for one group, or all of them."""
    return _REQUEST.pack(group_id)


def decode_groups(data: bytes) -> Iterator[Group]:
    """The groups of a part of a description."""
    for at, end in _entries(data, _DESCRIPTION):
        _, kind, group_id, length = _DESCRIPTION.unpack_from(data, at)
        at += _DESCRIPTION.size
        if kind >= len(_KINDS):
            raise ProtocolError(f"group {group_id}: type {kind}")
        if length > end - at:
            raise ProtocolError(f"group {group_id}: {length} bytes of buckets where {end - at} are left")
        buckets = tuple(_decode_buckets(data, at, at + length, _KINDS[kind]))
        selection, foreign = _decode_properties(data, at + length, end)
        yield Group(group_id, _KINDS[kind], buckets, selection, foreign)


def decode_bucket_counters(data: bytes) -> Iterator[BucketCounters]:
    """The counters of the groups of a part of the statistics."""
    for at, end in _entries(data, _COUNTERS):
        group_id = _COUNTERS.unpack_from(data, at)[1]
        counted = data[at + _COUNTERS.size : end]
        if len(counted) % _BUCKET_COUNTERS.size:
            raise ProtocolError(f"group {group_id}: {len(counted)} bytes of bucket counters")
        pairs = list(_BUCKET_COUNTERS.iter_unpack(counted))
        yield BucketCounters(group_id, tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))


def _entries(data: bytes, layout: struct.Struct) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(data):
        length = unpack(layout, data, at, len(data), "group")[0]
        if not layout.size <= length <= len(data) - at:
            raise ProtocolError(f"group: a length of {length} bytes")
        yield at, at + length
        at += length


def _encode_bucket(bucket: Bucket, kind: str) -> bytes:
    actions = encode_actions(bucket.actions)
    properties = bucket.foreign
    if bucket.watch_group != ANY:
        properties = _WATCH_LAYOUT.pack(_WATCH_GROUP, _WATCH_LAYOUT.size, bucket.watch_group) + properties
    if bucket.watch_port != ANY:
        properties = _WATCH_LAYOUT.pack(_WATCH_PORT, _WATCH_LAYOUT.size, bucket.watch_port) + properties
    if kind == SELECT:
        properties = _WEIGHT_LAYOUT.pack(_WEIGHT, _WEIGHT_LAYOUT.size, bucket.weight) + properties
    length = _BUCKET.size + len(actions) + len(properties)
    return _BUCKET.pack(length, len(actions), bucket.bucket_id) + actions + properties


def _decode_buckets(data: bytes, at: int, end: int, kind: str) -> Iterator[Bucket]:
    while at < end:
        length, actions_length, bucket_id = unpack(_BUCKET, data, at, end, "bucket")
        if not _BUCKET.size + actions_length <= length <= end - at:
            raise ProtocolError(f"bucket {bucket_id}: a length of {length} bytes, {actions_length} of actions")
        middle = at + _BUCKET.size + actions_length
        actions = decode_actions(data, at + _BUCKET.size, middle)
        weight, watch_port, watch_group = int(kind == SELECT), ANY, ANY
        foreign = b""
        for what, start, stop in blocks(data, middle, at + length, "bucket"):
            if what == _WEIGHT:
                weight = unpack(_WEIGHT_LAYOUT, data, start, stop, "weight")[2]
            elif what == _WATCH_PORT:
                watch_port = unpack(_WATCH_LAYOUT, data, start, stop, "watch_port")[2]
            elif what == _WATCH_GROUP:
                watch_group = unpack(_WATCH_LAYOUT, data, start, stop, "watch_group")[2]
            else:
                foreign += pad(data[start:stop])
        yield Bucket(bucket_id, actions, weight if kind == SELECT else 0, watch_port, watch_group, foreign)
        at += length


def _encode_selection(selection: Selection) -> bytes:
    method = selection.method.encode()
    if not 0 < len(method) <= _METHOD_LONGEST:
        raise AnabranchError(
            f"selection_method: {selection.method}: 1 to {_METHOD_LONGEST} letters; write hash or dp_hash"
        )
    fields = encode_fields(selection.fields) + selection.foreign
    length = _SELECTION.size + len(fields)
    head = _SELECTION.pack(_EXPERIMENTER, length, _NETRONOME, _SELECTION_METHOD, method, selection.parameter)
    return pad(head + fields)


def _decode_properties(data: bytes, at: int, end: int) -> tuple[Selection | None, bytes]:
    selection = None
    foreign = b""
    for kind, start, stop in blocks(data, at, end, "group properties"):
        whose: tuple[int, ...] = ()
        if kind == _EXPERIMENTER:
            whose = unpack(_EXPERIMENTER_LAYOUT, data, start, stop, "group property")[2:]
        if whose == (_NETRONOME, _SELECTION_METHOD) and selection is None:
            selection = _decode_selection(data, start, stop)
        else:
            foreign += pad(data[start:stop])
    return selection, foreign


def _decode_selection(data: bytes, at: int, end: int) -> Selection:
    if end - at < _SELECTION.size:
        raise ProtocolError(f"selection_method: {end - at} bytes where {_SELECTION.size} are needed")
    *_, method, parameter = _SELECTION.unpack_from(data, at)
    name, _, rest = method.partition(b"\0")
    if not name or not name.isascii() or rest.strip(b"\0"):
        raise ProtocolError(f"selection_method: {method!r}")
    fields, foreign = decode_fields(data, at + _SELECTION.size, end)
    return Selection(name.decode(), parameter, fields, foreign)
