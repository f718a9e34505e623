"""Start of a connection (OpenFlow 1.5.1 section 6.3.1), and the events that the switch is asked to report."""

from __future__ import annotations

import struct

from anabranch.deploy.openflow.blocks import HEAD, blocks, unpack
from anabranch.deploy.openflow.error import ProtocolError
from anabranch.deploy.openflow.framing import VERSION, Kind, Message

_VERSION_BITMAP = 1
_VERSIONS = {wire: f"OpenFlow 1.{wire - 1}" for wire in range(1, VERSION)}
_BITMAP = struct.Struct(">HHI")
HELLO = _BITMAP.pack(_VERSION_BITMAP, _BITMAP.size, 1 << VERSION)
INCOMPATIBLE = struct.pack(">HH", 0, 0)
"""Body of an error message: hello failed, no version in common."""

_FEATURES = struct.Struct(">QIBB2xII")
CONFIGURATION = struct.pack(">HH", 0, 0xFFFF)
"""`miss_send_len` must not be 0: Open vSwitch tells a connection to its management socket nothing before
(`ofconn_receives_async_msg` in its `ofproto/connmgr.c`)."""


def _asynchronous() -> bytes:
    """Body of OFPT_SET_ASYNC: changes of ports and roles always; packets that a rule sends, but not to a secondary.

    Properties and the bits of their masks are those of section 7.3.10, each for a secondary and for all others; reasons
    of packets are those of section 7.4.1, those of roles of section 7.4.4.
    """
    packets_of_rules, all_changes_of_ports, no_removed_flows, all_changes_of_roles = 1 << 1, 7, 0, 7
    masks = [0, packets_of_rules]
    masks += [kind for kind in (all_changes_of_ports, no_removed_flows, all_changes_of_roles) for _ in range(2)]
    return b"".join(struct.pack(">HHI", number, 8, mask) for number, mask in enumerate(masks))


ASYNCHRONOUS = _asynchronous()


def check_hello(first: Message) -> None:
    """Checks that the peer's first message lets both speak version 1.5.

    Raises:
        ProtocolError: it is no hello, or offers other versions only.

    """
    if first.kind != Kind.HELLO:
        raise ProtocolError(f"a message of type {first.kind} before hello")
    offered = _offered(first)
    if not offered >> VERSION & 1:
        newest = offered.bit_length() - 1
        raise ProtocolError(
            f"it offers {_VERSIONS.get(newest, 'nothing known')} at most"
            if newest < VERSION
            else "it does not offer 1.5",
            "ovs-vsctl add bridge BRIDGE protocols OpenFlow15",
        )


def _offered(hello: Message) -> int:
    """Offered versions as bits."""
    for kind, start, stop in blocks(hello.body, 0, len(hello.body), "hello"):
        if kind == _VERSION_BITMAP and stop - start > HEAD.size:
            return unpack(_BITMAP, hello.body, start, stop, "hello")[2]
    return (1 << hello.version + 1) - 1


def decode_features(body: bytes) -> int:
    """Decodes the datapath id of a features reply."""
    return unpack(_FEATURES, body, 0, len(body), "features")[0]
