"""Splitting with NumPy arrays: one technique over one group of weighted paths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.files.errors import AnabranchError
from anabranch.split.tuples import flow_keys

Weight = int | float | Decimal | str
"""Weight as people write it. Floats count as the decimal that prints them: 0.1 is one tenth."""


@dataclass(frozen=True)
class Technique:
    """A technique as the registry lists it.

    `granularity` is the unit of a decision: `stateless` (a pure function of the key), `flow` (at the first packet, then
    remembered) or `packet` (may change between packets of one flow).
    """

    name: str
    granularity: str
    summary: str
    source: str


def techniques() -> list[Technique]:
    """Every technique, in the order in which tables show them."""
    return [Technique(*row) for row in _core.techniques()]


@dataclass(frozen=True)
class Hash:
    """A packet hash: its name, and the number of bits of its results."""

    name: str
    bits: int
    factor: int
    """Factor from results to keys: 1, but for results of 8 and 16 bits a prime that spreads them over 32."""

    def results(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Results of the function, from the keys of `flow_keys`; shape (n,)."""
        results: npt.NDArray[np.uint64] = keys // np.uint64(self.factor)
        return results

    def all_keys(self) -> npt.NDArray[np.uint64] | None:
        """All possible keys, each once; None for a hash of 32 bits or more."""
        if self.bits > 16:
            return None
        keys: npt.NDArray[np.uint64] = np.arange(2**self.bits, dtype=np.uint64) * np.uint64(self.factor)
        return keys


def hashes() -> list[Hash]:
    """Every packet hash, in the order in which tables show them."""
    return [Hash(*row) for row in _core.hashes()]


def weight_texts(weights: Sequence[Weight]) -> list[str]:
    """Converts weights to exact decimal text, which the core reads."""
    return [_text(weight) for weight in weights]


def _text(weight: Weight) -> str:
    if isinstance(weight, str):
        return weight
    if isinstance(weight, float):
        return repr(float(weight))
    if isinstance(weight, Fraction):
        raise AnabranchError(f"weights: {weight} is a fraction; give decimals, or scale all to integers")
    return str(weight)


@dataclass(frozen=True)
class Revision:
    """State of a splitter in a few bytes: two of one digest pick the same now, and after the same later updates."""

    updates: int
    """Number of updates since the splitter was made, those before its snapshots among them."""
    digest: str
    """XXH3 of technique, parameters, weights and history, 32 hexadecimal digits: against accidents, not attackers."""


class Splitter:
    """A group of weighted paths, planned by one technique.

    `snapshot` and `pickle` keep the whole state of techniques of granularity `stateless`, history and all.

    Threads may pick from one splitter at once and update it meanwhile. Techniques of granularity `stateless` share a
    plan that never changes, so they run beside each other; the others remember flows, and one thread at a time has the
    use of that: give each thread a copy of its own (`copy.copy`) and the packets of a flow always to the same thread.
    A copy has the plan and the state of its origin, and its own from then on.

    Args:
        technique: a name of `techniques()`.
        weights: one per path; non-negative, at least one positive, at most 1024 of them.
        up: one flag per path, False for a dead one; all alive when left out.
        parameters: of the technique, as in `slots=4096`.

    Raises:
        AnabranchError: an unknown name or parameter, or weights beyond the technique's limits.

    """

    def __init__(
        self,
        technique: str,
        weights: Sequence[Weight],
        up: Sequence[bool] | None = None,
        **parameters: object,
    ) -> None:
        texts = {key: _parameter(value) for key, value in parameters.items()}
        self._core = _core.Splitter(technique, weight_texts(weights), _flags(up), texts)

    def __copy__(self) -> Splitter:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied._core = self._core.copy()
        return copied

    def __deepcopy__(self, memo: dict[int, object]) -> Splitter:
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(deepcopy({k: v for k, v in self.__dict__.items() if k != "_core"}, memo))
        copied._core = self._core.copy()
        return copied

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_core": self.snapshot()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._core = _core.Splitter.restore(state["_core"])

    @classmethod
    def restore(cls, snapshot: bytes) -> Splitter:
        """Makes the splitter that left a snapshot: it picks as that one did, and after later updates as it would.

        Args:
            snapshot: of `Splitter.snapshot`, all of its bytes.

        Raises:
            AnabranchError: bytes that are no snapshot, or one of another version of the format.

        """
        restored = object.__new__(cls)
        restored._core = _core.Splitter.restore(snapshot)
        return restored

    @property
    def core(self) -> _core.Splitter:
        """The compiled half, which `read_trace` drives packet by packet."""
        return self._core

    @property
    def technique(self) -> str:
        """The technique's name."""
        return self._core.technique

    @property
    def granularity(self) -> str:
        """Unit of a decision: `stateless`, `flow` or `packet`."""
        return self._core.granularity

    @property
    def state_bytes(self) -> int:
        """Bytes that a decision reads or writes: plan, tables and counters."""
        return self._core.state_bytes

    @property
    def history_bytes(self) -> int:
        """Bytes that updates read and decisions do not: weights, and tables kept of earlier updates."""
        return self._core.history_bytes

    @property
    def revision(self) -> Revision:
        """State in a few bytes, by which replicas tell whether they agree.

        Raises:
            AnabranchError: the technique remembers flows or counts packets.

        """
        return Revision(*self._core.revision())

    def snapshot(self) -> bytes:
        """The whole state as bytes: technique, parameters, weights, and the history that later updates build on.

        Raises:
            AnabranchError: the technique remembers flows or counts packets.

        """
        return self._core.snapshot()

    def delta(self, base: Splitter) -> bytes:
        """Difference from the state of `base`, a replica or an earlier copy, to the state of this splitter.

        Raises:
            AnabranchError: another technique or other parameters, or one that remembers flows or counts packets.

        """
        return self._core.delta(base._core)

    def adopt(self, bytes: bytes) -> None:  # noqa: A002 (the unit is the name)
        """Takes the state of a replica in place of its own, as an update does.

        Args:
            bytes: a snapshot of the replica, or a delta that begins at the state of this splitter.

        Raises:
            AnabranchError: bytes that are neither, another technique, other parameters or fewer paths, or a delta from
                another state. The old plan stands.

        """
        self._core.adopt(bytes)

    def pick(
        self,
        keys: npt.NDArray[np.uint64] | npt.NDArray[np.void],
        out: npt.NDArray[np.uint16] | None = None,
        *,
        bytes: npt.NDArray[np.uint32] | None = None,  # noqa: A002 (the unit is the name)
        times_ns: npt.NDArray[np.uint64] | None = None,
    ) -> npt.NDArray[np.uint16]:
        """Picks the path (index from 0) of every packet, in order of arrival.

        The arrays are read and written in place, with the GIL released.

        Args:
            keys: flow keys, shape (n,), contiguous uint64, as `flow_keys` makes them; or the connections
                themselves, dtype `FIVE_TUPLE`, which are hashed with xxh3 first.
            out: array to write to, shape (n,), contiguous uint16; it is also returned.
            bytes: bytes of each packet on the wire, shape (n,); one each when left out.
            times_ns: arrival times in nanoseconds, ascending, shape (n,); no time passes when left out.

        An update by another thread does not wait for the batch: it takes effect at some packet of it.

        Raises:
            TypeError: keys that are no NumPy array of flow keys or connections.
            AnabranchError: an array of another length, or one that is not contiguous.

        """
        return self._core.pick(flow_keys_of(keys), out, bytes, times_ns)

    def pick_bounded(
        self,
        keys: npt.NDArray[np.uint64] | npt.NDArray[np.void],
        loads: npt.NDArray[np.uint64],
        eps: float,
    ) -> npt.NDArray[np.uint16]:
        """Picks the paths of new connections so that none is above `1 + eps` of its share of all that live.

        One after the other: each goes to a path with less than `ceil((1 + eps) * w / W * (m + 1))` connections, where
        `m` live on paths that are up. It is the path of `pick` where that one is below its bound. Mirrokni, Thorup and
        Zadimoghaddam 2018, with weights.

        Args:
            keys: of the new connections, shape (n,), as in `pick`.
            loads: live connections of each path, shape (paths,), contiguous uint64; the new ones are counted in it.
            eps: part of its share that a path may have above it, 0.000001 to 1024, in units of 2^-20.

        Raises:
            TypeError: keys that are no NumPy array of flow keys or connections, loads that are no array of uint64.
            AnabranchError: a technique that remembers flows, values outside their bounds, or loads that cannot be
                written. `loads` stands.

        """
        if not isinstance(loads, np.ndarray) or loads.dtype != np.uint64 or loads.ndim != 1:
            raise TypeError(f"loads: {_kind(loads)}; give a NumPy array of uint64 of shape (paths,)")
        if not loads.flags.writeable:
            raise AnabranchError("loads: cannot be written; give an array in which the new connections can be counted")
        return self._core.pick_bounded(flow_keys_of(keys), loads, float(eps))

    def update(self, weights: Sequence[Weight] | None = None, up: Sequence[bool] | None = None) -> None:
        """Plans anew, moving as many connections as the technique's rule says and no more.

        New weights without `up` mean that all paths are alive; a longer list appends paths. On an error
        the old plan stands.
        """
        self._core.update(None if weights is None else weight_texts(weights), _flags(up))

    def slow_start(
        self,
        ages_s: Sequence[float | None],
        *,
        window_s: float,
        aggression: float = 1.0,
        min_percent: float = 10.0,
        weights: Sequence[Weight] | None = None,
        up: Sequence[bool] | None = None,
    ) -> None:
        """Plans a part of the weight for paths that have just joined or come back; call it again as they age.

        A path of age `t` has `max(min_percent / 100, (t / window_s) ** (1 / aggression))` of its weight (Envoy, "Slow
        start mode"). When all are older than the window the group is as if it had never been otherwise.

        Args:
            ages_s: seconds since each path began, shape (paths,); None for one that is not starting.
            window_s: seconds after which a path has its whole weight, above 0.
            aggression: above 0; 1 is a straight line, more is faster at first.
            min_percent: percentage of its weight that a path has from the beginning, 0 to 100.
            weights: new weights, as in `update`; the present ones when left out.
            up: one flag per path, False for a dead one; when left out, all are alive under new weights, and those dead
                that were under the present ones.

        Raises:
            AnabranchError: values outside their bounds, another number of ages than of paths, or weights beyond the
                technique's limits. The old plan stands.

        """
        ages = [None if age is None else _nanoseconds("ages_s", age) for age in ages_s]
        paths = self.asked().size if weights is None else len(weights)
        if len(ages) != paths:
            raise AnabranchError(
                f"ages_s: {len(ages)} for {paths} paths; give each its age, None if it is not starting"
            )
        rule = (_nanoseconds("window_s", window_s), float(aggression), float(min_percent))
        if rule[0] == 0:
            raise AnabranchError(f"window_s: {window_s} makes no slow start; give the seconds that it takes, as 60")
        self._core.slow_start(ages, rule, None if weights is None else weight_texts(weights), _flags(up))

    def drain(self, path: int, *, now_ns: int, until_ns: int) -> None:
        """Drains a path: no new connection goes to it, and all connections stay where they are until a deadline.

        `Connections` tell old from new; `pick` picks as for new ones. The path weighs nothing until `undrain`, also
        after the deadline and whatever is updated meanwhile, and then has its own connections back. Where no other path
        is up it takes new connections after all. A snapshot has it as a path that is down.

        Args:
            path: index from 0.
            now_ns: time by the clock of the packets, in nanoseconds.
            until_ns: deadline, after `now_ns`.

        Raises:
            AnabranchError: a technique that remembers flows, no such path, one that drains already or is the last that
                takes connections, or a deadline that has passed.

        """
        times = _unsigned("now_ns", now_ns, 64), _unsigned("until_ns", until_ns, 64)
        self._core.drain(_unsigned("path", path, 16), *times)

    def undrain(self, path: int) -> None:
        """Ends the drain of a path (index from 0): it takes connections again, its own first.

        Raises:
            AnabranchError: a technique that remembers flows, no such path, or one that does not drain.

        """
        self._core.undrain(_unsigned("path", path, 16))

    @property
    def draining(self) -> list[int]:
        """Paths that drain, indices from 0, ascending."""
        return self._core.draining

    def asked(self) -> npt.NDArray[np.float64]:
        """Desired share of each path, zero for dead ones; shape (paths,)."""
        return np.asarray(self._core.asked())

    def shares(self) -> npt.NDArray[np.float64] | None:
        """Exact long-run share of each path under a perfect hash; None if it depends on arrivals."""
        shares = self._core.shares()
        return None if shares is None else np.asarray(shares)

    def table(self) -> npt.NDArray[np.uint16] | None:
        """Path of each entry of the table by which the technique picks; shape (entries,).

        For programs that read a table of their own: a flow goes to
        `table[key % len(table)]`, by the low 32 bits of its key.
        `None` where the technique computes, as `log-rendezvous` does, or remembers flows.
        """
        return self._core.table()

    def time_pick(
        self,
        keys: npt.NDArray[np.uint64],
        bytes: npt.NDArray[np.uint32] | None = None,  # noqa: A002 (the unit is the name)
        repetitions: int = 7,
    ) -> npt.NDArray[np.float64]:
        """Nanoseconds per decision of each of `repetitions` calls of `pick`; shape (repetitions,)."""
        return np.asarray(self._core.time_pick(keys, bytes, repetitions)) / max(1, keys.size)

    def time_chain(self, keys: npt.NDArray[np.uint64], repetitions: int = 7) -> npt.NDArray[np.float64]:
        """Nanoseconds per decision if each waits for the one before: latency; shape (repetitions,).

        Measured on a copy: the splitter's state stays.
        """
        return np.asarray(self._core.time_chain(keys, repetitions)) / max(1, keys.size)

    def time_changes(self, keys: npt.NDArray[np.uint64], changes: Sequence[Sequence[Weight]]) -> tuple[float, float]:
        """Nanoseconds spent on planning and on picking while the weights change.

        Before each of `len(changes)` equal parts of `keys` the next of `changes` is planned; the last one stays.

        Raises:
            AnabranchError: weights beyond the technique's limits; those before them stay.

        """
        return self._core.time_changes(keys, [weight_texts(weights) for weights in changes])

    def explain(self, key: int) -> list[tuple[str, str]]:
        """Explains how `key` comes to its path, as (name, value) steps. Does not change the state."""
        return self._core.explain(key)


def flow_keys_of(keys: npt.NDArray[np.uint64] | npt.NDArray[np.void]) -> npt.NDArray[np.uint64]:
    """Keys of flows, from keys or connections."""
    if isinstance(keys, np.ndarray) and keys.dtype.names is not None:
        keys = flow_keys(cast("npt.NDArray[np.void]", keys))
    if not isinstance(keys, np.ndarray) or keys.dtype != np.uint64 or keys.ndim != 1:
        raise TypeError(f"keys: {_kind(keys)}; give a NumPy array of uint64 of shape (n,), as flow_keys makes it")
    return cast("npt.NDArray[np.uint64]", keys)


def _kind(value: object) -> str:
    """Kind of a value, for an error."""
    if isinstance(value, np.ndarray):
        return f"array of {value.dtype}, shape {value.shape}"
    return type(value).__name__


def _unsigned(key: str, value: int, bits: int) -> int:
    """Whole number of so many bits."""
    if not 0 <= value < 2**bits:
        raise AnabranchError(f"{key}: {value} is out of range; give a whole number from 0 to {2**bits - 1}")
    return value


def _nanoseconds(key: str, seconds: float) -> int:
    """Whole nanoseconds of a time in seconds, at most 2^64 - 1."""
    if not 0 <= seconds < 2**64 / 1e9:
        raise AnabranchError(f"{key}: {seconds} is no time; give seconds from 0 to {2**64 // 10**9}")
    return min(round(seconds * 1e9), 2**64 - 1)


def _parameter(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flags(up: Iterable[bool] | None) -> list[bool] | None:
    return None if up is None else [bool(flag) for flag in up]
