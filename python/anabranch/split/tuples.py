"""Arrays of 5-tuples, and the keys that techniques pick by."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.files.errors import AnabranchError

FIVE_TUPLE = np.dtype(
    [
        ("source", np.uint8, 16),
        ("destination", np.uint8, 16),
        ("source_port", ">u2"),
        ("destination_port", ">u2"),
        ("protocol", np.uint8),
        ("version", np.uint8),
    ]
)
"""38 bytes in network byte order, without padding; IPv4 addresses fill the first 4 bytes of their field.

NumPy makes arrays of the machine's byte order where it puts several together (`np.concatenate`); those are connections
too, wherever connections are taken.
"""

PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "icmpv6": 58, "sctp": 132}

Addresses = str | Iterable[str] | npt.NDArray[Any]
"""Addresses: text, or NumPy: uint32 numbers (IPv4), uint8 of shape (n, 4), or uint8 of shape (n, 16)."""


def five_tuples(
    src: Addresses,
    dst: Addresses,
    proto: str | int | npt.ArrayLike,
    sport: npt.ArrayLike,
    dport: npt.ArrayLike,
) -> npt.NDArray[np.void]:
    """Connections as an array of dtype `FIVE_TUPLE`, shape (n,).

    Columns of one value are repeated to the length of the others.

    Args:
        src: source addresses.
        dst: destination addresses, of the same IP version as `src`.
        proto: IANA protocol numbers, or `tcp`, `udp`, `sctp`, `icmp`, `icmpv6`.
        sport: source ports, 0 where the protocol has none.
        dport: destination ports.

    Raises:
        AnabranchError: a wrong address, versions or lengths that do not fit, or a port over 65535.

    """
    sources, source_versions = _addresses("src", src)
    destinations, destination_versions = _addresses("dst", dst)
    if np.asarray(proto).dtype.kind == "U":
        proto = [_protocol(str(name)) for name in np.atleast_1d(np.asarray(proto))]
    ports = {"sport": _numbers("sport", sport, 65535), "dport": _numbers("dport", dport, 65535)}
    protocols = _numbers("proto", proto, 255)
    columns: list[npt.NDArray[Any]] = [sources, destinations, protocols, *ports.values()]
    lengths = {column.shape[0] for column in columns} - {1}
    if len(lengths) > 1:
        raise AnabranchError(f"columns of {sorted(lengths)} values; give one length, or single values")
    tuples = np.zeros(lengths.pop() if lengths else 1, FIVE_TUPLE)
    if np.any(source_versions != destination_versions):
        raise AnabranchError("src, dst: IPv4 beside IPv6; both ends of a connection have one version")
    tuples["source"], tuples["destination"] = sources, destinations
    tuples["source_port"], tuples["destination_port"] = ports["sport"], ports["dport"]
    tuples["protocol"], tuples["version"] = protocols, source_versions
    return tuples


def flow_keys(tuples: npt.NDArray[np.void], hash: str = "xxh3", seed: int = 0) -> npt.NDArray[np.uint64]:  # noqa: A002
    """Makes the 64-bit key of each connection, shape (n,), which `Splitter.pick` takes.

    Args:
        tuples: dtype `FIVE_TUPLE` in any byte order, shape (n,).
        hash: a name of `hashes()`; one of fewer bits leaves the rest of a key without information.
        seed: 0 for the published function.

    Raises:
        AnabranchError: an array of another dtype, an unknown hash.

    """
    return _core.flow_keys(tuple_bytes(tuples), hash, seed)


def tuple_bytes(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.uint8]:
    """Connections as bytes of shape (n, 38), in network byte order.

    Raises:
        AnabranchError: an array of another dtype or shape.

    """
    if not _holds_tuples(tuples.dtype) or tuples.ndim != 1:
        raise AnabranchError(f"tuples: dtype {tuples.dtype}; make the array with five_tuples")
    return np.ascontiguousarray(tuples, FIVE_TUPLE).view(np.uint8).reshape(-1, FIVE_TUPLE.itemsize)


def _holds_tuples(dtype: np.dtype[Any]) -> bool:
    """Whether the fields are those of `FIVE_TUPLE`, in any byte order."""
    native = FIVE_TUPLE.newbyteorder("=")
    return dtype.names == native.names and all(dtype[name].newbyteorder("=") == native[name] for name in native.names)


def _protocol(name: str) -> int:
    if name.lower() not in PROTOCOLS:
        raise AnabranchError(f"proto: {name}: unknown; use a number or one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name.lower()]


def _addresses(name: str, given: Addresses) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Addresses as bytes of shape (n, 16), and their IP versions of shape (n,)."""
    if isinstance(given, np.ndarray) and given.dtype.kind == "u":
        if given.dtype == np.uint32:
            given = given.reshape(-1, 1).astype(">u4").view(np.uint8)
        if given.dtype != np.uint8 or given.ndim != 2 or given.shape[1] not in (4, 16):
            raise AnabranchError(
                f"{name}: array of {given.dtype}, shape {given.shape}; give uint32, or uint8 of shape (n, 4) or (n, 16)"
            )
        wide = np.zeros((given.shape[0], 16), np.uint8)
        wide[:, : given.shape[1]] = given
        return wide, np.full(given.shape[0], 4 if given.shape[1] == 4 else 6, np.uint8)
    texts = [given] if isinstance(given, str) else list(given)
    wide = np.zeros((len(texts), 16), np.uint8)
    versions = np.zeros(len(texts), np.uint8)
    for row, text in enumerate(texts):
        try:
            address = ipaddress.ip_address(str(text))
        except ValueError:
            raise AnabranchError(f"{name}: {text}: not an IP address; write 10.0.0.1 or fd00::1") from None
        wide[row, : len(address.packed)] = np.frombuffer(address.packed, np.uint8)
        versions[row] = address.version
    return wide, versions


def _numbers(name: str, given: npt.ArrayLike, most: int) -> npt.NDArray[np.int64]:
    numbers = np.atleast_1d(np.asarray(given))
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or np.any((numbers < 0) | (numbers > most)):
        raise AnabranchError(f"{name}: not whole numbers from 0 to {most}; give one per connection")
    return numbers.astype(np.int64)
