"""Bundles: modifications that all happen, in order, or not at all (OpenFlow 1.5.1 sections 6.9 and 7.3.9)."""

from __future__ import annotations

import struct
from enum import IntEnum

from anabranch.deploy.openflow.blocks import unpack
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.framing import HEADER, LONGEST, Kind, message

_CONTROL = struct.Struct(">IHH")
_ADD = struct.Struct(">I2xH")
_ATOMIC, _ORDERED = 1, 2
MOST = LONGEST - 2 * HEADER.size - _ADD.size
"""Largest number of bytes of the body of a message that goes into a bundle."""


class Step(IntEnum):
    """Request about a bundle; the reply has the number that follows."""

    OPEN = 0
    COMMIT = 4
    DISCARD = 6


def encode_control(bundle: int, step: Step) -> bytes:
    """Body of a request about a bundle."""
    return _CONTROL.pack(bundle, step, _ATOMIC | _ORDERED)


def check_control(body: bytes, bundle: int, step: Step) -> None:
    """Checks that a reply answers that request.

    Raises:
        ProtocolError: the reply answers another request.

    """
    which, what, _ = unpack(_CONTROL, body, 0, len(body), "bundle control")
    if (which, what) != (bundle, step + 1):
        raise ProtocolError(f"bundle {bundle}: step {step.value} answered by {what} of bundle {which}")


def encode_add(bundle: int, xid: int, inner: bytes) -> bytes:
    """Encodes the message that puts a message with the same `xid` into a bundle."""
    return message(Kind.BUNDLE_ADD_MESSAGE, xid, _ADD.pack(bundle, _ATOMIC | _ORDERED) + inner)
