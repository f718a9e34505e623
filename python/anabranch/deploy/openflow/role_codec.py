"""Roles of controllers at one switch (OpenFlow 1.5.1 sections 6.3.7, 7.3.8 and 7.4.4)."""

from __future__ import annotations

import struct
from enum import IntEnum

from anabranch.deploy.openflow.blocks import unpack
from anabranch.deploy.openflow.error import ProtocolError

_ROLE = struct.Struct(">I4xQ")
_STATUS = struct.Struct(">IB3xQ")
_UNKNOWN = (1 << 64) - 1
"""The generation of a switch that was given none."""


class Role(IntEnum):
    """Rights of a connection, under Open vSwitch's names; a switch has one primary at most.

    A secondary may read, and the switch refuses its changes. A connection begins as equal.
    """

    UNCHANGED = 0
    EQUAL = 1
    PRIMARY = 2
    SECONDARY = 3


def encode_role_request(role: Role, generation: int) -> bytes:
    """Body of the request; the generation, of 64 bits, counts for primary and secondary only."""
    return _ROLE.pack(role, generation)


def decode_role(body: bytes) -> tuple[Role, int | None]:
    """Decodes role and generation of a reply; None where the switch was given no generation.

    Raises:
        ProtocolError: no such role.

    """
    role, generation = unpack(_ROLE, body, 0, len(body), "role reply")
    return _known(role, generation)


def decode_role_status(body: bytes) -> tuple[Role, int | None]:
    """Decodes role and generation of a notice; None where the switch was given no generation.

    Raises:
        ProtocolError: no such role.

    """
    role, _, generation = unpack(_STATUS, body, 0, len(body), "role status")
    return _known(role, generation)


def _known(role: int, generation: int) -> tuple[Role, int | None]:
    if role not in tuple(Role):
        raise ProtocolError(f"role {role}")
    return Role(role), None if generation == _UNKNOWN else generation
