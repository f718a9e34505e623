"""What Linux hashes of a packet that it forwards (`fib_multipath_hash`, `rt6_multipath_hash`, `__skb_flow_dissect`).

Pinned to a running kernel by the tests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.linux.hash_policy import (
    DESTINATION,
    DESTINATION_PORT,
    FLOW_LABEL,
    INNER,
    LAYER_3,
    PROTOCOL,
    SOURCE,
    SOURCE_PORT,
    HashPolicy,
)
from anabranch.deploy.targets.plan.captured import (
    AUTHENTICATED,
    EXTENSIONS,
    FIRST_FRAGMENT,
    LATER_FRAGMENT,
    MPLS,
    STACKED_TAGS,
    has,
    headers_of,
)
from anabranch.deploy.targets.plan.explanation import ICMP, PORTED, ends_of, is_untyped

AUTHENTICATION, ENCRYPTION = 51, 50
"""Protocols whose packets carry an index (SPI), which the kernel hashes in the place of ports."""
UNREAD_PORTS = {33: "DCCP", 136: "UDP-Lite"}
"""Protocols whose ports the kernel hashes, and a capture's connections do not have; a flow list's may."""
TUNNELS = (4, 41, 47)
"""Protocols that the kernel looks into: IPv4 and IPv6 within IP, and GRE."""
ICMP_ERRORS = {4: (3, 4, 5, 11, 12), 6: tuple(range(128))}
"""Types of messages about another packet, whose addresses are hashed under policy 0 (`ip_multipath_l3_keys`)."""
MISSING = "not in a capture"


def is_no_ip(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Which packets do not come to a route for IP by themselves: a VLAN's device or a label's route must take them."""
    return has(tuples, STACKED_TAGS, MPLS)


def is_portless(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Which packets are hashed without the ports of their connection, whatever the policy."""
    return has(tuples, FIRST_FRAGMENT, LATER_FRAGMENT, AUTHENTICATED) & ~is_no_ip(tuples)


def hashed(tuples: npt.NDArray[np.void], policy: HashPolicy) -> tuple[list[str], bool]:
    """The fields that are hashed of the connection of an array of one, and whether a capture has all of them.

    Of two connections with the same fields, all of them there, a group sends the packets one way.
    """
    row, bits = tuples[0], policy.hashed
    if bits & INNER and int(row["protocol"]) in TUNNELS and not is_portless(tuples)[0]:
        return [f"fields of the packet inside: {MISSING}"], False
    if policy.number == LAYER_3 and _is_about_another(tuples):
        return [f"addresses of the packet that the message is about: {MISSING}"], False
    protocol, ports = _transport(tuples, policy)
    fields = []
    # The kernel sorts the addresses, and the ports by themselves (`__flow_hash_consistentify`).
    ends = [end for bit, end in zip((SOURCE, DESTINATION), ends_of(row), strict=True) if bits & bit]
    if ends:
        fields.append(" ".join(sorted(ends)))
    if bits & PROTOCOL:
        fields.append(f"protocol {protocol}")
    if bits & FLOW_LABEL and policy.version == 6:
        fields.append(f"flow label {MISSING}")
    if bits & (SOURCE_PORT | DESTINATION_PORT):
        fields.append(ports)
    return fields, not any(MISSING in one for one in fields)


def _is_about_another(tuples: npt.NDArray[np.void]) -> bool:
    """Whether a message of ICMP is, or may be, about another packet, which it has the beginning of."""
    row = tuples[0]
    if int(row["protocol"]) not in ICMP or has(tuples, LATER_FRAGMENT)[0]:
        return False
    return bool(is_untyped(row)) or int(row["source_port"]) in ICMP_ERRORS[int(row["version"])]


def _transport(tuples: npt.NDArray[np.void], policy: HashPolicy) -> tuple[str, str]:
    """Protocol and ports that are hashed, in words."""
    row, protocol = tuples[0], str(tuples[0]["protocol"])
    is_piece = bool(has(tuples, FIRST_FRAGMENT, LATER_FRAGMENT)[0])
    is_authenticated = bool(has(tuples, AUTHENTICATED)[0])
    if policy.version == 6:
        if policy.number == LAYER_3:
            # The number in the fixed header, whatever follows.
            first = {0: protocol, FIRST_FRAGMENT: "44", LATER_FRAGMENT: "44", AUTHENTICATED: str(AUTHENTICATION)}
            return first.get(int(headers_of(tuples)[0]), MISSING), "no ports"
        # Options, and an authentication header, may stand before the header of the fragment or behind it.
        if has(tuples, EXTENSIONS)[0]:
            return MISSING, f"ports {MISSING}"
        if is_piece and is_authenticated:
            return str(AUTHENTICATION), f"SPI {MISSING}"
    if is_authenticated:
        return str(AUTHENTICATION), "no ports" if is_piece else f"SPI {MISSING}"
    if is_piece:
        return protocol, "no ports"
    number = int(row["protocol"])
    if number == ENCRYPTION:
        return protocol, f"SPI {MISSING}"
    if number not in PORTED and number not in UNREAD_PORTS:
        return protocol, "no ports"
    if number in UNREAD_PORTS and not row["source_port"] and not row["destination_port"]:
        return protocol, f"ports of {UNREAD_PORTS[number]} {MISSING}"
    bits = {SOURCE_PORT: "source_port", DESTINATION_PORT: "destination_port"}
    ports = sorted(int(row[name]) for bit, name in bits.items() if policy.hashed & bit)
    return protocol, " ".join(["ports", *map(str, ports)])
