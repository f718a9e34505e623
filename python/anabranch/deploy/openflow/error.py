"""Errors between a switch and us, and the names of a switch's refusals (OpenFlow 1.5.1 section 7.5.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    from anabranch.deploy.openflow.modification import Mod


class ProtocolError(AnabranchError):
    """The switch violated OpenFlow 1.5; its connection is closed."""

    def __init__(self, what: str, hint: str = "the connection is closed; does a switch answer there?") -> None:
        super().__init__(f"switch: {what}: not OpenFlow 1.5; {hint}")


class Disconnected(AnabranchError):  # noqa: N818 - a state that one finds
    """There is no connection, or not any more, or the switch became silent."""


class Refused(AnabranchError):  # noqa: N818 - what the switch did
    """The switch answered with an error message."""

    def __init__(self, error: SwitchError, what: str, mod: Mod | None = None) -> None:
        super().__init__(f"switch: {what}: refused: {error.name}; {_HINTS.get(error.name, _HINT)}")
        self.error = error
        self.mod = mod
        """Which modification, where it was one."""


class SwitchError(NamedTuple):
    """Content of a switch's error message."""

    type_: int
    code: int
    data: bytes
    """Refused message, at least its beginning."""

    @property
    def name(self) -> str:
        """Name in the specification, `OFPGMFC_GROUP_EXISTS`; numbers if it has none."""
        if self.type_ == EXPERIMENTER:
            vendor = int.from_bytes(self.data[:4], "big")
            return f"error {self.code} of experimenter {vendor:#x}"
        prefix, codes = _NAMES.get(self.type_, ("", ()))
        if self.code < len(codes) and codes[self.code]:
            return f"{prefix}_{codes[self.code]}"
        return f"error {self.type_}/{self.code}"


EXPERIMENTER = 0xFFFF
_HINT = "the message is valid OpenFlow 1.5: does this switch implement it?"
_HINTS = {
    "OFPGMFC_GROUP_EXISTS": "modify it, or delete it first",
    "OFPGMFC_UNKNOWN_GROUP": "add the group first",
    "OFPBAC_BAD_OUT_GROUP": "add the group first",
    "OFPMMFC_METER_EXISTS": "modify it, or delete it first",
    "OFPMMFC_UNKNOWN_METER": "add the meter first",
    "OFPBAC_BAD_METER": "add the meter first",
    "OFPBMC_BAD_PREREQ": "match eth_type, and ip_proto for ports, as well",
    "OFPBAC_MATCH_INCONSISTENT": "match eth_type, and ip_proto for ports, as well",
    "OFPHFC_INCOMPATIBLE": "ovs-vsctl add bridge BRIDGE protocols OpenFlow15",
}


def decode_error(body: bytes) -> SwitchError:
    """The body of an error message."""
    if len(body) < 4:
        raise ProtocolError("error message without type and code")
    return SwitchError(int.from_bytes(body[:2], "big"), int.from_bytes(body[2:4], "big"), body[4:])


_NAMES: dict[int, tuple[str, tuple[str, ...]]] = {
    number: (prefix, tuple("" if name == "-" else name for name in names.split()))
    for number, prefix, names in (
        (0, "OFPHFC", "INCOMPATIBLE EPERM"),
        (
            1,
            "OFPBRC",
            "BAD_VERSION BAD_TYPE BAD_MULTIPART BAD_EXPERIMENTER BAD_EXP_TYPE EPERM BAD_LEN BUFFER_EMPTY"
            " BUFFER_UNKNOWN BAD_TABLE_ID IS_SLAVE BAD_PORT BAD_PACKET MULTIPART_BUFFER_OVERFLOW"
            " MULTIPART_REQUEST_TIMEOUT MULTIPART_REPLY_TIMEOUT MULTIPART_BAD_SCHED PIPELINE_FIELDS_ONLY UNKNOWN",
        ),
        (
            2,
            "OFPBAC",
            "BAD_TYPE BAD_LEN BAD_EXPERIMENTER BAD_EXP_TYPE BAD_OUT_PORT BAD_ARGUMENT EPERM TOO_MANY BAD_QUEUE"
            " BAD_OUT_GROUP MATCH_INCONSISTENT UNSUPPORTED_ORDER BAD_TAG BAD_SET_TYPE BAD_SET_LEN BAD_SET_ARGUMENT"
            " BAD_SET_MASK BAD_METER",
        ),
        (
            3,
            "OFPBIC",
            "UNKNOWN_INST UNSUP_INST BAD_TABLE_ID UNSUP_METADATA UNSUP_METADATA_MASK BAD_EXPERIMENTER BAD_EXP_TYPE"
            " BAD_LEN EPERM DUP_INST",
        ),
        (
            4,
            "OFPBMC",
            "BAD_TYPE BAD_LEN BAD_TAG BAD_DL_ADDR_MASK BAD_NW_ADDR_MASK BAD_WILDCARDS BAD_FIELD BAD_VALUE BAD_MASK"
            " BAD_PREREQ DUP_FIELD EPERM",
        ),
        (
            5,
            "OFPFMFC",
            "UNKNOWN TABLE_FULL BAD_TABLE_ID OVERLAP EPERM BAD_TIMEOUT BAD_COMMAND BAD_FLAGS CANT_SYNC BAD_PRIORITY"
            " IS_SYNC",
        ),
        (
            6,
            "OFPGMFC",
            "GROUP_EXISTS INVALID_GROUP WEIGHT_UNSUPPORTED OUT_OF_GROUPS OUT_OF_BUCKETS CHAINING_UNSUPPORTED"
            " WATCH_UNSUPPORTED LOOP UNKNOWN_GROUP CHAINED_GROUP BAD_TYPE BAD_COMMAND BAD_BUCKET BAD_WATCH EPERM"
            " UNKNOWN_BUCKET BUCKET_EXISTS",
        ),
        (10, "OFPSCFC", "BAD_FLAGS BAD_LEN EPERM"),
        (11, "OFPRRFC", "STALE UNSUP BAD_ROLE ID_UNSUP ID_IN_USE"),
        (
            12,
            "OFPMMFC",
            "UNKNOWN METER_EXISTS INVALID_METER UNKNOWN_METER BAD_COMMAND BAD_FLAGS BAD_RATE BAD_BURST BAD_BAND"
            " BAD_BAND_VALUE OUT_OF_METERS OUT_OF_BANDS",
        ),
        (
            14,
            "OFPBPC",
            "BAD_TYPE BAD_LEN BAD_VALUE TOO_MANY DUP_TYPE BAD_EXPERIMENTER BAD_EXP_TYPE BAD_EXP_VALUE EPERM",
        ),
        (15, "OFPACFC", "INVALID UNSUPPORTED EPERM"),
        (
            17,
            "OFPBFC",
            "UNKNOWN EPERM BAD_ID BUNDLE_EXIST BUNDLE_CLOSED OUT_OF_BUNDLES BAD_TYPE BAD_FLAGS MSG_BAD_LEN MSG_BAD_XID"
            " MSG_UNSUP MSG_CONFLICT MSG_TOO_MANY MSG_FAILED TIMEOUT BUNDLE_IN_PROGRESS SCHED_NOT_SUPPORTED"
            " SCHED_FUTURE SCHED_PAST",
        ),
    )
}
"""Types of errors that our messages can cause: hello, request, action, instruction, match, flow, group, ..."""
