"""Meters as bytes: changes (OpenFlow 1.5.1 section 7.3.4.5) and description (7.3.5.13)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from anabranch.deploy.openflow.blocks import unpack
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.modification import MeterMod
from anabranch.deploy.openflow.tables import Meter

ALL_METERS = 0xFFFFFFFF
_COMMANDS = {"add": 0, "modify": 1, "delete": 2}
_HEAD = struct.Struct(">HHI")
_FLAGS = 1 | 4 | 8
"""Flags of a meter: kilobits a second, with a burst, counted (OFPMF_KBPS, OFPMF_BURST, OFPMF_STATS)."""
_DROP = 1
_BAND = struct.Struct(">HHII4x")
_REQUEST = struct.Struct(">I4x")


def encode_meter_mod(mod: MeterMod) -> bytes:
    """Body of the message; a deletion needs no bands."""
    meter = mod.meter
    flags = int.from_bytes(meter.foreign[:2], "big") if meter.foreign else _FLAGS
    head = _HEAD.pack(_COMMANDS[mod.command], flags, meter.meter_id)
    if mod.command == "delete":
        return head
    return head + (meter.foreign[2:] or _BAND.pack(_DROP, _BAND.size, meter.rate_kbps, meter.burst_kb))


def meter_request(meter_id: int) -> bytes:
    """Encodes the request for one meter, or all of them."""
    return _REQUEST.pack(meter_id)


def decode_meters(data: bytes) -> Iterator[Meter]:
    """Decodes the meters of a part of a description; one with more than `Meter` can express is kept as its bytes."""
    at = 0
    while at < len(data):
        length, flags, meter_id = unpack(_HEAD, data, at, len(data), "meter")
        if not _HEAD.size <= length <= len(data) - at:
            raise ProtocolError(f"meter {meter_id}: a length of {length} bytes")
        bands = data[at + _HEAD.size : at + length]
        at += length
        if flags == _FLAGS and len(bands) == _BAND.size:
            kind, size, rate, burst = _BAND.unpack(bands)
            if (kind, size) == (_DROP, _BAND.size):
                yield Meter(meter_id, rate, burst)
                continue
        yield Meter(meter_id, 0, 0, flags.to_bytes(2, "big") + bands)
