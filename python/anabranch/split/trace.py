"""Traffic as columns: one pass over a capture, a flow list or a generator."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.split.splitter import Splitter
from anabranch.split.tuples import FIVE_TUPLE

DIRECTIONS = ("conversation", "each")
"""Units in which connections are counted: both directions of a 5-tuple, or every directed 5-tuple on its own."""

ENCAPSULATIONS = ("outer", "inner")
"""Choices of the 5-tuple of a VXLAN, GENEVE or GRE packet: the tunnel's, or that of the packet inside."""

SEED_MAX = 2**32 - 1

Progress = Callable[[int, int, int | None], None]
"""Called every 100 ms with: packets so far, bytes (or packets) of the source read, and their total if known."""


@dataclass(frozen=True)
class Carried:
    """Packets that one splitter, shown every packet, sent to each path; arrays have shape (paths,)."""

    connections: npt.NDArray[np.uint64]
    """Connections by the path of their first packet."""
    packets: npt.NDArray[np.uint64]
    bytes: npt.NDArray[np.uint64]
    spread: int
    """Number of connections that used more than one path."""
    crossings: int
    """Number of packets on another path than the packet before them in their connection."""


@dataclass(frozen=True)
class Trace:
    """The connections of a trace in the order of their first packets; columns have shape (connections,)."""

    name: str
    tuples: npt.NDArray[np.void]
    """Tuple of each connection's first packet (its initiator's); dtype `FIVE_TUPLE`."""
    headers: npt.NDArray[np.uint8]
    """Bits of the headers around the 5-tuple (`deploy.targets.plan.captured`): of all packets of a connection under
    `each-headers`, else of its first packet."""
    keys: npt.NDArray[np.uint64]
    packets: npt.NDArray[np.uint64]
    bytes: npt.NDArray[np.uint64]
    """Bytes on the wire; of both directions if they are one connection."""
    first_ns: npt.NDArray[np.uint64]
    """Time of the first packet since the Unix epoch."""
    five_tuples: int
    """Number of distinct directed 5-tuples."""
    conversations: int
    """Number of distinct pairs of a 5-tuple and its reverse, as tshark's conversation list counts."""
    counts: dict[str, int]
    """Counts of the reader: packets, those that are no IP, and so on."""
    table_bytes: int
    """Memory of the flow table at the end."""
    carried: list[Carried]
    """Traffic of each of the `online` splitters, in their order."""
    damage: str | None = None
    """Position and kind of damage in the file; the rest was not read. None if everything was read."""

    def __len__(self) -> int:
        """Number of connections."""
        return self.keys.size


def read_trace(
    path: str | os.PathLike[str],
    *,
    encapsulation: str = "outer",
    direction: str = "conversation",
    hash: str = "xxh3",  # noqa: A002
    seed: int = 0,
    online: Sequence[Splitter] = (),
    progress: Progress | None = None,
    partial: bool = False,
) -> Trace:
    """Reads a capture (pcap, pcapng; gzip and zstd too) or a flow list (CSV) in one pass.

    Memory grows with the connections, not with the packets. The GIL is released; Ctrl-C stops the pass.

    Args:
        path: of the file; `-` is standard input.
        encapsulation: one of `ENCAPSULATIONS`.
        direction: one of `DIRECTIONS`, or `each-headers`: as `each`, and packets of a 5-tuple that have other headers
            around it (fragments, authentication header, stacked VLAN tags, MPLS) count as another connection.
        hash: makes the keys; a name of `hashes()`.
        seed: of the hash.
        online: splitters that are shown every packet, with its bytes and time.
        progress: see `Progress`.
        partial: keep the packets before the damage of a capture, and report it in `Trace.damage`.

    Raises:
        AnabranchError: the file is no trace, is damaged (without `partial`), or holds no IP packet.

    """
    name = os.fspath(path)
    recording = _core.replay(
        name, None, encapsulation, direction, hash, seed, [splitter.core for splitter in online], progress, partial
    )
    return _trace("standard input" if name == "-" else name, recording)


def generate_trace(
    kind: str,
    connections: int,
    *,
    direction: str = "conversation",
    hash: str = "xxh3",  # noqa: A002
    seed: int = 0,
    online: Sequence[Splitter] = (),
    progress: Progress | None = None,
) -> Trace:
    """Generates traffic if there is no trace; `kind` is a name of `generators()`. Otherwise like `read_trace`."""
    source = (kind, connections)
    recording = _core.replay(
        None, source, "outer", direction, hash, seed, [splitter.core for splitter in online], progress, False
    )
    return _trace(f"generated {kind}:{connections}", recording)


def generators() -> list[tuple[str, str]]:
    """Name and summary of every generator."""
    return _core.generators()


def _trace(name: str, recording: _core.Recording) -> Trace:
    return Trace(
        name=name,
        tuples=recording.tuples.view(FIVE_TUPLE),
        headers=recording.headers,
        keys=recording.keys,
        packets=recording.packets,
        bytes=recording.bytes,
        first_ns=recording.first_ns,
        five_tuples=recording.five_tuples,
        conversations=recording.conversations,
        counts=recording.counts,
        table_bytes=recording.table_bytes,
        carried=[Carried(*columns) for columns in recording.carried],
        damage=recording.damage,
    )
