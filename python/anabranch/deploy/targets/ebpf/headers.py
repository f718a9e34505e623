"""What the programs of the kernel's datapath read of packets with other headers around their 5-tuple (`frame.rs`).

Pinned to programs in a running kernel by the tests.
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
    ODD_TAGS,
    has,
)
from anabranch.deploy.targets.plan.explanation import PORTED

AUTHENTICATION = 51
"""Protocol number of the authentication header (RFC 4302)."""


def as_read(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """The protocol and ports that a program reads.

    All fragments are without ports, the first too, so that they stay together, and so is what is none of TCP, UDP and
    SCTP. Of IPv4 a program does not look behind
    an authentication header; of IPv6 it does, as behind other extension headers.
    """
    read: npt.NDArray[np.void] = tuples.copy()
    is_hidden = _is_hidden(tuples)
    read["protocol"][is_hidden] = AUTHENTICATION
    is_portless = ~np.isin(tuples["protocol"], list(PORTED)) | is_hidden | has(tuples, FIRST_FRAGMENT, LATER_FRAGMENT)
    for port in ("source_port", "destination_port"):
        read[port][is_portless] = 0
    return read


def is_no_ip(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Which packets pass as if the program were not there."""
    return has(tuples, MPLS)


def is_portless(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Which packets are hashed without the ports of their connection."""
    return (has(tuples, FIRST_FRAGMENT, LATER_FRAGMENT) | _is_hidden(tuples)) & ~is_no_ip(tuples)


def unknown(captured: npt.NDArray[np.void]) -> str:
    """Why a capture does not tell what is read of the connection of an array of one; empty if it does."""
    if has(captured, ODD_TAGS)[0]:
        return "because of a tag of type 0x9100, which no program reads, or a third one, which some hooks read"
    is_piece = has(captured, FIRST_FRAGMENT, LATER_FRAGMENT)[0]
    if captured[0]["version"] == 6 and is_piece and has(captured, EXTENSIONS, AUTHENTICATED)[0]:
        return "without the order of the extension headers: those behind the fragment's are not read"
    return ""


def _is_hidden(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    hidden: npt.NDArray[np.bool_] = has(tuples, AUTHENTICATED) & (tuples["version"] == 4)
    return hidden
