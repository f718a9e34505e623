"""Connections that live while paths drain: which of them are new."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.split.splitter import Splitter, flow_keys_of


class Connections:
    """What one thread knows of the connections of a splitter while paths drain.

    All packets of a connection go by the same value. It remembers nothing while no drain lasts, and while one does the
    new connections whose keys a plan before the drain would put elsewhere.

    Args:
        splitter: that picks; its drains and updates take effect at the next packet.

    Raises:
        TypeError: a splitter that is none.

    """

    def __init__(self, splitter: Splitter) -> None:
        if not isinstance(splitter, Splitter):
            raise TypeError(f"splitter: {type(splitter).__name__}; give an anabranch.Splitter")
        self._core = _core.Connections(splitter.core)

    def pick(
        self,
        keys: npt.NDArray[np.uint64] | npt.NDArray[np.void],
        begins: npt.NDArray[np.bool_],
        times_ns: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.uint16]:
        """Picks the path (index from 0) of every packet, in order of arrival; shape (n,).

        A connection that began before a drain keeps its path until the deadline, while that path is up.

        Args:
            keys: of the packets, shape (n,), as in `Splitter.pick`.
            begins: True for the first packet of a connection, as a TCP packet with SYN alone is; shape (n,), bool.
            times_ns: arrival times by the clock of the deadlines, nanoseconds, shape (n,), uint64.

        Raises:
            TypeError: keys that are no NumPy array of flow keys or connections.
            AnabranchError: an array of another length, or one that is not contiguous.

        """
        return self._core.pick(flow_keys_of(keys), begins, times_ns)

    @property
    def state_bytes(self) -> int:
        """Bytes of what it remembers."""
        return self._core.state_bytes
