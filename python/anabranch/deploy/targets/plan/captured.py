"""Connections of a capture, with the headers because of which a switch may read less of a packet than its 5-tuple."""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt

from anabranch.split.trace import Trace
from anabranch.split.tuples import FIVE_TUPLE

FIRST_FRAGMENT = 1
LATER_FRAGMENT = 2
AUTHENTICATED = 4
STACKED_TAGS = 8
MPLS = 16
EXTENSIONS = 32
ODD_TAGS = 64
WORDS = {
    FIRST_FRAGMENT: "first fragments",
    LATER_FRAGMENT: "later fragments",
    AUTHENTICATED: "authentication header",
    STACKED_TAGS: "stacked VLAN tags",
    MPLS: "MPLS",
    EXTENSIONS: "extension headers",
    ODD_TAGS: "of type 0x9100, or more than two",
}
"""The bits of `Trace.headers`, in words."""

CAPTURED = np.dtype([*((name, FIVE_TUPLE[name]) for name in FIVE_TUPLE.names or ()), ("headers", np.uint8)])
"""`FIVE_TUPLE` and the bits of `WORDS`."""


def captured(trace: Trace) -> npt.NDArray[np.void]:
    """The connections of a trace that was read with the direction `each-headers`; dtype `CAPTURED`."""
    return with_headers(trace.tuples, trace.headers)


def with_headers(tuples: npt.NDArray[np.void], headers: npt.NDArray[np.uint8]) -> npt.NDArray[np.void]:
    """Connections of dtype `CAPTURED`."""
    captured = np.empty(len(tuples), CAPTURED)
    for name in FIVE_TUPLE.names or ():
        captured[name] = tuples[name]
    captured["headers"] = headers
    return captured


def headers_of(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.uint8]:
    """The header bits of each connection; none where the connections are of dtype `FIVE_TUPLE`."""
    if "headers" not in (tuples.dtype.names or ()):
        return np.zeros(len(tuples), np.uint8)
    headers: npt.NDArray[np.uint8] = tuples["headers"]
    return headers


def without_headers(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """The connections of dtype `FIVE_TUPLE`, which hashes take."""
    plain = np.empty(len(tuples), FIVE_TUPLE)
    for name in FIVE_TUPLE.names or ():
        plain[name] = tuples[name]
    return plain


def has(tuples: npt.NDArray[np.void], *bits: int) -> npt.NDArray[np.bool_]:
    """Which connections have at least one of these headers."""
    is_set: npt.NDArray[np.bool_] = (headers_of(tuples) & reduce(int.__or__, bits)) != 0
    return is_set


def header_words(row: np.void) -> str:
    """The headers of a connection in words; empty where there are none."""
    if "headers" not in (row.dtype.names or ()):
        return ""
    return ", ".join(word for bit, word in WORDS.items() if int(row["headers"]) & bit)
