"""What Open vSwitch reads of packets with other headers around their 5-tuple (`miniflow_extract` of lib/flow.c).

Pinned to a running switch by the tests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.deploy.targets.plan.captured import (
    AUTHENTICATED,
    EXTENSIONS,
    FIRST_FRAGMENT,
    LATER_FRAGMENT,
    MPLS,
    STACKED_TAGS,
    has,
)
from anabranch.deploy.targets.plan.explanation import is_untyped
from anabranch.split.tuples import PROTOCOLS

FRAGMENT, AUTHENTICATION = 44, 51
"""Protocol numbers of IPv6's fragment header (RFC 8200) and of the authentication header (RFC 4302)."""


def as_read(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """The protocol and ports that the switch reads.

    Later fragments have no ports, and those of IPv6 the protocol of the fragment header. Of IPv4 the switch does not
    look behind an authentication header; of IPv6 it does, as behind other extension headers.
    """
    read: npt.NDArray[np.void] = tuples.copy()
    is_later, is_ipv6 = has(tuples, LATER_FRAGMENT), tuples["version"] == 6
    is_hidden = has(tuples, AUTHENTICATED) & ~is_ipv6
    read["protocol"][is_hidden] = AUTHENTICATION
    read["protocol"][is_later & is_ipv6] = FRAGMENT
    for port in ("source_port", "destination_port"):
        read[port][is_later | is_hidden] = 0
    return read


def is_no_ip(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Which packets match no rule for IP: labels are not read, and one VLAN tag is (`vlan-limit` 1, the default)."""
    return has(tuples, STACKED_TAGS, MPLS)


def is_misread_by_l4(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Which packets `dp_hash` L4 hashes by an extension header's number: TCP and UDP behind one, of IPv6."""
    of_kind = (tuples["version"] == 6) & np.isin(tuples["protocol"], (PROTOCOLS["tcp"], PROTOCOLS["udp"]))
    misread: npt.NDArray[np.bool_] = of_kind & has(tuples, FIRST_FRAGMENT, AUTHENTICATED, EXTENSIONS)
    return misread & ~has(tuples, LATER_FRAGMENT)


def is_unknown_to_l4(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Which packets do not tell what `dp_hash` L4 hashes: ICMP's type and code, or which extension header is first."""
    several = has(tuples, FIRST_FRAGMENT) & has(tuples, AUTHENTICATED)
    return is_untyped(as_read(tuples)) | is_misread_by_l4(tuples) & (several | has(tuples, EXTENSIONS))
