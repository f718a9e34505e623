"""`anabranch.Network`: a network that another program drives, message by message."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.files.errors import AnabranchError
from anabranch.simulate.own.override import own_balance
from anabranch.simulate.runs.literal import file_text
from anabranch.simulate.runs.load import load

if TYPE_CHECKING:
    from types import TracebackType

    import polars as pl

OnDone = Callable[[int, int, bool], object]
"""Called with the handle of a message that has ended, the time in picoseconds, and whether all of it was delivered."""


@dataclass(frozen=True)
class Done:
    """Messages that have ended, in the order in which they ended. Iterating yields `(handle, time_ps, whole)`."""

    handles: npt.NDArray[np.uint32]
    """Handles, as `send` returned them."""
    times_ps: npt.NDArray[np.uint64]
    """When each ended, in picoseconds."""
    whole: npt.NDArray[np.bool_]
    """Whether all of each was delivered. Datagrams that are lost nobody sends again."""

    def __len__(self) -> int:
        return len(self.handles)

    def __iter__(self) -> Iterator[tuple[int, int, bool]]:
        return zip(self.handles.tolist(), self.times_ps.tolist(), self.whole.tolist(), strict=True)


@dataclass(frozen=True)
class NetworkResults:
    """Results of a network that has ended: the tables of a run (docs/results.md)."""

    flows: pl.DataFrame
    """One row per flow; a message's handle is its `flow`."""
    tables: Mapping[str, pl.DataFrame]
    """`ports`, and the others that the scenario asks for in `[record]`."""
    totals: Mapping[str, int | float]
    """Packet-hops, drops and other sums."""
    counts: Mapping[str, int]
    """What the load balancer counted, by its name."""


class Network:
    """A network that this program drives: it sends messages, lets time pass, and decides when messages end.

    The same calls give the same results, to the bit. Messages that are sent before their start, or at it, take as long
    as the same flows of a list in `anabranch.run`, to the picosecond: docs/network.md. Times are whole picoseconds.
    One thread at a time may call it, of the process that made it.
    """

    def __init__(
        self,
        scenario: str | Path | Mapping[str, Any] | _core.Scenario,
        overrides: Mapping[str, Any] | Iterable[tuple[str, str]] = (),
        *,
        background: bool = True,
    ) -> None:
        """Makes the network of a scenario, at time 0.

        Args:
            scenario: A TOML file, an `ab.Scenario`, or a dict of the same keys; it need not have `traffic`.
            overrides: Keys to change, as in `{"seed": 2}`.
            background: Whether the scenario's traffic runs beside what is sent. Its flows have the first numbers.

        Raises:
            AnabranchError: the scenario is wrong, or names a load balancer of one's own.

        """
        if not isinstance(scenario, _core.Scenario):
            without, changes, named = own_balance(scenario, overrides)
            if named is not None:
                raise AnabranchError(
                    "routing.balance: a load balancer of one's own does not run in a Network; hint: name one that "
                    "`anabranch schemes` lists"
                )
            scenario = load(without, changes, driven=True)
        self._core = _core.Network(scenario, background=background)
        nodes = scenario.topology()["nodes"]
        self._nodes: list[str] = nodes["name"]
        self._callbacks: dict[int, OnDone] = {}
        self._due: deque[tuple[OnDone, int, int, bool]] = deque()
        self._untaken: list[Done] = []
        self._in_callback = False

    def send(
        self,
        src: int | str,
        dst: int | str,
        size_bytes: int,
        *,
        at: int | None = None,
        transport: int = 0,
        on_done: OnDone | None = None,
    ) -> int:
        """Sends a message from one host to another, and returns its handle.

        Args:
            src: Host that sends: its number, or its name.
            dst: Host that receives; another one.
            size_bytes: Payload in bytes, at least one.
            at: When, in picoseconds, not before `now()`; None: now.
            transport: 0: the scenario's `[transport]`; others are those that its `[[traffic]]` has, in their order.
            on_done: Called when the message ends, with handle, time in picoseconds and whether all of it was
                delivered. It may send; it may not let time pass.

        Raises:
            AnabranchError: hosts, size or time are not as they must be; nothing is sent.

        """
        handle = self._core.send(
            self._host(src, "src"),
            self._host(dst, "dst"),
            _whole(size_bytes, "size_bytes", 64),
            None if at is None else _whole(at, "at", 64),
            _whole(transport, "transport", 8),
        )
        if on_done is not None:
            self._callbacks[handle] = on_done
        return handle

    def send_many(
        self,
        src: npt.ArrayLike,
        dst: npt.ArrayLike,
        size_bytes: npt.ArrayLike,
        *,
        at: npt.ArrayLike | None = None,
        transport: int = 0,
        on_done: OnDone | None = None,
    ) -> range:
        """Sends messages, all of them or none, and returns their handles.

        Args:
            src: Hosts that send: numbers or names, one for each message or one for all, as NumPy broadcasts them.
            dst: Hosts that receive, likewise.
            size_bytes: Payloads in bytes, likewise.
            at: Times in picoseconds, likewise; None: now.
            transport: As `send` takes it, for all.
            on_done: As `send` takes it, for each.

        Raises:
            AnabranchError: one of them is not as it must be; nothing is sent.

        """
        columns = [self._hosts(src, "src"), self._hosts(dst, "dst"), _wholes(size_bytes, "size_bytes", np.uint64)]
        if at is not None:
            columns.append(_wholes(at, "at", np.uint64))
        try:
            columns = [np.ascontiguousarray(column) for column in np.broadcast_arrays(*map(np.atleast_1d, columns))]
        except ValueError as error:
            raise AnabranchError(f"send_many: {error}; give one value for each message, or one for all") from None
        if columns[0].ndim != 1:
            raise AnabranchError(f"send_many: arrays of {columns[0].ndim} dimensions; give arrays of one")
        times = columns[3] if at is not None else None
        sends = (columns[0], columns[1], columns[2], times, _whole(transport, "transport", 8))
        handles = range(*self._core.send_many(*sends))
        if on_done is not None:
            self._callbacks.update(dict.fromkeys(handles, on_done))
        return handles

    def change(self, at: int | None = None, **keys: Any) -> None:
        """Changes links or switches, now or later, as `[[change]]` of a scenario does.

        `network.change(link="leaf0-spine1", set="down")` is one; the keys are those of docs/scenario.md.

        Args:
            at: When, in picoseconds, not before `now()`; None: now.
            keys: `link` or `switch`, and one of `set`, `rate`, `loss`, `blackhole`.

        Raises:
            AnabranchError: a key, a value or the time is not as it must be; nothing changes.

        """
        time_ps = self.now() if at is None else _whole(at, "at", 64)
        self._core.change(file_text({"change": [{"at": f"{time_ps} ps", **keys}]}, "change: "))

    def now(self) -> int:
        """Present time, in picoseconds."""
        return self._core.now_ps()

    def next_event(self) -> int | None:
        """Time of the next event, in picoseconds, or None: no message ends before it unless one is sent."""
        return self._core.next_event_ps()

    def ideal(self, src: int | str, dst: int | str, size_bytes: int = 1, *, transport: int = 0) -> int:
        """Returns the least time that a message takes on the fabric as built, in picoseconds.

        Raises:
            AnabranchError: hosts or size are not as they must be.

        """
        hosts = self._host(src, "src"), self._host(dst, "dst")
        return self._core.ideal_ps(*hosts, _whole(size_bytes, "size_bytes", 64), _whole(transport, "transport", 8))

    @property
    def open(self) -> int:
        """Number of messages that have not ended."""
        return self._core.open

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts, by number."""
        return self._nodes[: self._core.hosts]

    def run_until(self, time: int) -> None:
        """Lets everything happen that comes before a time in picoseconds, and nothing of that time itself.

        What is sent at that time afterwards is as if it had been known from the beginning. Ctrl-C stops it between two
        events; it may be called again.

        Raises:
            AnabranchError: the time is over, this is a callback, or nothing can move any more (a deadlock).

        """
        self._check_outside("run_until")
        time_ps = _whole(time, "run_until", 64)
        self._call_due()
        if not self._callbacks:
            self._core.run_until(time_ps)
            return
        while True:
            self._core.run_until_any_done(time_ps)
            if not self._collect() and self.now() >= time_ps:
                return

    def run_until_any_done(self, until: int | None = None) -> Done:
        """Goes on until a message ends, and returns it, with those that ended before and nobody took.

        It stops right after the event in which the message ends, before others of the same time: what is sent then is
        as a flow of a list that waits for that message. Nothing is returned if no message ends before `until`, or none
        is open.

        Args:
            until: Last time in picoseconds, itself not included; None: 10 s after the last message was to be sent.

        Raises:
            AnabranchError: as `run_until`.

        """
        self._check_outside("run_until_any_done")
        self._call_due()
        if not self._untaken:
            self._core.run_until_any_done(None if until is None else _whole(until, "until", 64))
        return self.take_done()

    def done(self) -> Done:
        """Messages that have ended and that nobody took, in the order in which they ended."""
        self._collect()
        return _together(self._untaken)

    def take_done(self) -> Done:
        """Takes the messages that have ended: each is returned once."""
        self._collect()
        taken, self._untaken = _together(self._untaken), []
        return taken

    def results(self) -> NetworkResults:
        """Ends the network, and returns its tables. Messages that have not ended have no `fct_ns`.

        Raises:
            AnabranchError: it is closed, or this is a callback.

        """
        self._check_outside("results")
        from anabranch.simulate.runs.frames import frame, frames, named

        run = self._core.results()
        flows = named(frame(run.flows), "flows", self._nodes)
        return NetworkResults(flows, frames(run, self._nodes), run.totals, dict(run.counts))

    def close(self) -> None:
        """Ends the network without results."""
        self._check_outside("close")
        self._core.close()

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._core.close()

    def _check_outside(self, call: str) -> None:
        if self._in_callback:
            raise AnabranchError(
                f"{call}: a callback cannot let time pass or end the network; hint: send there, and return"
            )

    def _collect(self) -> bool:
        """Takes what has ended from the engine, and calls back. Returns whether there was any."""
        ended = Done(*self._core.take_done())
        if not len(ended):
            return False
        self._untaken.append(ended)
        if self._callbacks:
            for handle, time_ps, whole in ended:
                callback = self._callbacks.pop(handle, None)
                if callback is not None:
                    self._due.append((callback, handle, time_ps, whole))
            self._call_due()
        return True

    def _call_due(self) -> None:
        """Calls back for messages that have ended; an exception leaves those behind for the next call."""
        while self._due and not self._in_callback:
            callback, handle, time_ps, whole = self._due.popleft()
            self._in_callback = True
            try:
                callback(handle, time_ps, whole)
            finally:
                self._in_callback = False

    def _host(self, host: int | str, name: str) -> int:
        return self._core.host(host) if isinstance(host, str) else _whole(host, name, 32)

    def _hosts(self, hosts: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
        array = np.asarray(hosts)
        if array.dtype.kind == "U":
            names, of = np.unique(array, return_inverse=True)
            return np.array([self._core.host(str(one)) for one in names], np.uint32)[of.reshape(array.shape)]
        return _wholes(array, name, np.uint32)


def _whole(value: Any, name: str, bits: int) -> int:
    """A whole number of so many bits."""
    try:
        number = index(value)
    except TypeError:
        raise AnabranchError(f"{name}: {value!r}: not a whole number; hint: times are picoseconds") from None
    if not 0 <= number < 1 << bits:
        raise AnabranchError(f"{name}: {number}: out of range; give 0 to {(1 << bits) - 1}")
    return number


def _wholes(values: npt.ArrayLike, name: str, kind: type[np.uint32 | np.uint64]) -> npt.NDArray[Any]:
    """Whole numbers of a type."""
    array = np.asarray(values)
    if array.dtype == kind:
        return array
    if array.dtype.kind not in "iu" and array.size:
        raise AnabranchError(f"send_many: {name}: {array.dtype}: not a type of whole numbers; hint: use astype")
    most = np.iinfo(kind).max
    if array.size and (int(array.min()) < 0 or int(array.max()) > most):
        raise AnabranchError(f"send_many: {name}: {array.min()} to {array.max()}: out of range; give 0 to {most}")
    return array.astype(kind)


def _together(parts: list[Done]) -> Done:
    if len(parts) == 1:
        return parts[0]
    kinds: tuple[Any, ...] = (np.uint32, np.uint64, np.bool_)
    columns = zip(*((one.handles, one.times_ps, one.whole) for one in parts), strict=True)
    if not parts:
        return Done(*(np.empty(0, kind) for kind in kinds))
    return Done(*map(np.concatenate, columns))
