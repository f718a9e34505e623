"""Actions as bytes (OpenFlow 1.5.1 section 7.2.6).

Open vSwitch's `multipath` is `nx_action_multipath` of its `lib/ofp-actions.c`.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence

from anabranch.deploy.openflow.action import CONTROLLER, Action, Foreign, Metered, Multipath, Output, SetField, ToGroup
from anabranch.deploy.openflow.blocks import HEAD, blocks, pad
from anabranch.deploy.openflow.match import FIELDS
from anabranch.deploy.openflow.oxm import decode_exact, encode_exact, field_of_nxm_number, nxm_number
from anabranch.files.errors import AnabranchError

_OUTPUT, _GROUP, _SET_FIELD, _METER, _EXPERIMENTER = 0, 22, 25, 29, 0xFFFF
_OUTPUT_LAYOUT = struct.Struct(">HHIH6x")
_NUMBER_LAYOUT = struct.Struct(">HHI")
_MULTIPATH_LAYOUT = struct.Struct(">HHIHHH2xHHI2xHI")
_NICIRA, _MULTIPATH, _MODULO = 0x2320, 10, 0
_WHOLE_PACKET = 0xFFFF
"""Number of a packet's bytes that the controller is sent (OFPCML_NO_BUFFER)."""
_HASHES = ("eth_src", "symmetric_l4", "symmetric_l3l4", "symmetric_l3l4+udp", "nw_src", "nw_dst", "symmetric_l3")
_WHOLE_REGISTER = 31
"""Bits of a register (`ofs_nbits`): from bit 0, 32 bits."""


def encode_actions(actions: Sequence[Action]) -> bytes:
    """Encodes actions in order.

    Raises:
        AnabranchError: an action has no encoding.

    """
    return b"".join(map(_encode, actions))


def decode_actions(data: bytes, at: int, end: int) -> tuple[Action, ...]:
    """The actions between `at` and `end`; those without a name here are kept as `Foreign`."""
    return tuple(
        (_decode_often if stop - start <= _SHORT else _decode)(kind, data[start:stop])
        for kind, start, stop in blocks(data, at, end, "actions")
    )


def _encode(action: Action) -> bytes:
    if isinstance(action, Output):
        length = _WHOLE_PACKET if action.port == CONTROLLER else 0
        return _OUTPUT_LAYOUT.pack(_OUTPUT, _OUTPUT_LAYOUT.size, action.port, length)
    if isinstance(action, ToGroup):
        return _NUMBER_LAYOUT.pack(_GROUP, _NUMBER_LAYOUT.size, action.group_id)
    if isinstance(action, Metered):
        return _NUMBER_LAYOUT.pack(_METER, _NUMBER_LAYOUT.size, action.meter_id)
    if isinstance(action, SetField):
        return _encode_set_field(action)
    if isinstance(action, Multipath):
        return _encode_multipath(action)
    return action.data


def _encode_set_field(action: SetField) -> bytes:
    field = FIELDS.get(action.field)
    if field is None or not 0 <= action.value <= field.ones:
        raise AnabranchError(f"set_field: {action.field}: {action.value}: no such field or too large; see match.FIELDS")
    oxm = encode_exact(action.field, action.value)
    return pad(HEAD.pack(_SET_FIELD, HEAD.size + len(oxm) + (-(HEAD.size + len(oxm)) & 7)) + oxm)


def _encode_multipath(action: Multipath) -> bytes:
    if action.algorithm not in _HASHES:
        raise AnabranchError(f"multipath: {action.algorithm}: unknown; one of {', '.join(_HASHES)}")
    if not 0 <= action.basis < 1 << 16 or not 1 <= action.slots <= 1 << 16:
        raise AnabranchError(f"multipath: basis {action.basis}, {action.slots} slots: 16 bits each; take smaller ones")
    return _MULTIPATH_LAYOUT.pack(
        _EXPERIMENTER,
        _MULTIPATH_LAYOUT.size,
        _NICIRA,
        _MULTIPATH,
        _HASHES.index(action.algorithm),
        action.basis,
        _MODULO,
        action.slots - 1,
        0,
        _WHOLE_REGISTER,
        nxm_number(action.register),
    )


def _decode(kind: int, data: bytes) -> Action:
    known: Action | None = None
    if kind == _OUTPUT and len(data) == _OUTPUT_LAYOUT.size:
        port = _OUTPUT_LAYOUT.unpack(data)[2]
        known = Output(port)
    elif kind in (_GROUP, _METER) and len(data) == _NUMBER_LAYOUT.size:
        number = _NUMBER_LAYOUT.unpack(data)[2]
        known = ToGroup(number) if kind == _GROUP else Metered(number)
    elif kind == _SET_FIELD:
        named = decode_exact(data, HEAD.size, len(data))
        known = None if named is None else SetField(*named)
    elif kind == _EXPERIMENTER and len(data) == _MULTIPATH_LAYOUT.size:
        known = _decode_multipath(data)
    # An action with more than its class has fields for, such as a maximum length to the controller, stays as bytes.
    return known if known is not None and _encode(known) == data else Foreign(pad(data))


_SHORT = 64
_decode_often = functools.lru_cache(maxsize=1 << 12)(_decode)
"""Cached decoder: outputs are few, buckets are many. A switch can fill it with a few hundred kilobytes at most."""


def _decode_multipath(data: bytes) -> Multipath | None:
    _, _, vendor, subtype, fields, basis, algorithm, most, _, bits, number = _MULTIPATH_LAYOUT.unpack(data)
    register = field_of_nxm_number(number)
    whole = register is not None and bits == _WHOLE_REGISTER
    if (vendor, subtype, algorithm) != (_NICIRA, _MULTIPATH, _MODULO) or fields >= len(_HASHES) or not whole:
        return None
    assert register is not None
    return Multipath(_HASHES[fields], basis, most + 1, register.name)
