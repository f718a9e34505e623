"""The job of `anabranch split`: one pass over the traffic, then every technique over its connections."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch._core import VERSION
from anabranch.files.errors import AnabranchError
from anabranch.split.change import Change
from anabranch.split.connections import Connections
from anabranch.split.request import Choice, Request
from anabranch.split.splitter import Hash, Splitter, hashes
from anabranch.split.stats.mape import (
    byte_floor,
    independent_connections,
    mape,
    mape_band,
    mape_expected,
    mape_floor,
    path_errors,
    times_floor,
    total_variation,
)
from anabranch.split.stats.uniformity import lost_expected_pct, lost_pct
from anabranch.split.trace import Carried, Progress, Trace
from anabranch.split.traffic import traffic

TIMED_DECISIONS = 1 << 18
TIMED_REPETITIONS = 7


@dataclass(frozen=True)
class Moved:
    """Effect of one change on the connections of the trace, all of them considered alive."""

    change: str
    kind: str
    moved: int | None
    """Number of connections that changed path; None if the technique keeps no path per connection."""
    minimum: int
    """Fewest that had to move: total variation of the desired shares; for a failure, those on the dead path."""
    asked: list[float]
    """Desired shares after the change; the dead path's is zero."""
    got_connections: list[int] | None
    """Connections by path after the change (of a drain: those that began after it); None without a path per
    connection, or if the change is refused.
    """
    mape_pct: float | None
    """Error of the split of these connections."""
    floor_pct: float
    expected_pct: float | None
    refused: str | None = None
    """Reason why the technique cannot split by the new weights."""

    @property
    def times_floor(self) -> float | None:
        """The error after the change as a multiple of its floor."""
        return None if self.mape_pct is None else times_floor(self.mape_pct, self.floor_pct)

    @property
    def times_expected(self) -> float | None:
        """The expected error after the change as a multiple of its floor."""
        return None if self.expected_pct is None else times_floor(self.expected_pct, self.floor_pct)


@dataclass(frozen=True)
class Outcome:
    """Split of the traffic by one technique. Lists have one value per path; errors are in percent."""

    name: str
    label: str
    granularity: str
    asked: list[float]
    """Desired shares; their sum is 1."""
    shares: list[float] | None
    """Technique's own long-run shares under a perfect hash; None if they depend on arrivals."""
    got_connections: list[int]
    got_bytes: list[int]
    mape_pct: float
    floor_pct: float
    expected_pct: float | None
    """Expected MAPE over as many connections, by the plan's shares of all results that the hash can have; equals the
    floor if the shares are exact. None if connections are not placed independently of each other.
    """
    worst_path: int
    """Number of the path, from 1."""
    worst_path_error_pct: float
    byte_mape_pct: float
    byte_floor_pct: float
    ns_per_decision: float
    """Median time of a decision; of hits, if there is a flow table."""
    ns_per_decision_min: float
    state_bytes: int
    spread_connections: int
    """Number of connections that used more than one path."""
    crossings: int
    """Number of packets on another path than the one before them in their connection."""
    changes: list[Moved]

    @property
    def times_floor(self) -> float | None:
        """The error as a multiple of the floor."""
        return times_floor(self.mape_pct, self.floor_pct)

    @property
    def times_expected(self) -> float | None:
        """The expected error as a multiple of the floor."""
        return None if self.expected_pct is None else times_floor(self.expected_pct, self.floor_pct)

    @property
    def times_byte_floor(self) -> float | None:
        """The error of the bytes as a multiple of its floor."""
        return times_floor(self.byte_mape_pct, self.byte_floor_pct)


@dataclass(frozen=True)
class Collisions:
    """Connections that share their hash value with an earlier one, in percent, beside a perfect hash's."""

    hash: str
    bits: int
    lost_pct: float
    expected_pct: float


@dataclass(frozen=True)
class Result:
    """Everything that `anabranch split` measured."""

    request: Request
    trace: Trace
    read_seconds: float
    floor_pct: float
    floor_band_pct: tuple[float, float]
    techniques: list[Outcome]
    refused: list[tuple[str, str]]
    """Techniques that cannot split by these weights, with their reason."""
    collisions: Collisions
    versions: dict[str, str]
    """Version of the package and of what it runs on, by name."""


def run(request: Request, progress: Progress | None = None) -> Result:
    """Runs the job.

    Raises:
        AnabranchError: weights that no technique can use, a trace that cannot be read.

    """
    asked = Splitter("random", request.weights).asked()
    for change in request.changes:
        _check(request, change)
    planned, refused = _plan(request)
    online = [choice for choice, splitter in planned.items() if splitter.granularity == "packet"]
    began = time.perf_counter()
    trace = traffic(request, [planned[choice] for choice in online], progress)
    read_seconds = time.perf_counter() - began
    online_results = dict(zip(online, trace.carried, strict=True))
    sample = _sample(trace)
    outcomes = [
        _outcome(request, choice, splitter, online_results.get(choice), trace, sample)
        for choice, splitter in planned.items()
    ]
    bits = _hash(request).bits
    return Result(
        request=request,
        trace=trace,
        read_seconds=read_seconds,
        floor_pct=mape_floor(asked, len(trace)),
        floor_band_pct=mape_band(asked, len(trace)),
        techniques=outcomes,
        refused=refused,
        collisions=Collisions(request.hash, bits, lost_pct(trace.keys), lost_expected_pct(len(trace), bits)),
        versions=_versions(),
    )


def _hash(request: Request) -> Hash:
    return next(hash_ for hash_ in hashes() if hash_.name == request.hash)


def _check(request: Request, change: Change) -> None:
    """Refuses a change that leaves nothing to split by, before the traffic is read."""
    try:
        Splitter("random", request.weights).update(*change.after(request.weights))
    except AnabranchError as error:
        raise AnabranchError(f"{change.key}: {change.text}: {error}") from None


def _plan(request: Request) -> tuple[dict[Choice, Splitter], list[tuple[str, str]]]:
    planned: dict[Choice, Splitter] = {}
    refused = []
    for choice in request.techniques:
        outcome = _try(request, choice)
        if isinstance(outcome, Splitter):
            planned[choice] = outcome
        else:
            refused.append((choice.name, outcome))
    if not planned:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused)
        raise AnabranchError(f"technique: none can split by these weights; {reasons}")
    return planned, refused


def _try(request: Request, choice: Choice) -> Splitter | str:
    """Plans the technique, or says why it cannot split by these weights."""
    try:
        return _fresh(request, choice)
    except AnabranchError as error:
        # A wrong parameter is the user's error; a limit of the technique is a finding.
        if choice.parameters:
            raise AnabranchError(f"technique: {choice.label}: {error}") from None
        return str(error)


def _fresh(request: Request, choice: Choice) -> Splitter:
    return Splitter(choice.name, request.weights, None, **dict(choice.parameters))


def _sample(trace: Trace) -> npt.NDArray[np.uint64]:
    """Keys for timing decisions: those of the trace in their order, repeated to 2^18 at least."""
    if len(trace) >= TIMED_DECISIONS:
        return trace.keys[: 4 * TIMED_DECISIONS]
    return np.resize(trace.keys, TIMED_DECISIONS)


def _outcome(
    request: Request,
    choice: Choice,
    splitter: Splitter,
    online: Carried | None,
    trace: Trace,
    sample: npt.NDArray[np.uint64],
) -> Outcome:
    asked = splitter.asked()
    paths = asked.size
    if online is None:
        picked = splitter.pick(trace.keys)
        connections = np.bincount(picked, minlength=paths).astype(np.int64)
        bytes_by_path = np.bincount(picked, weights=trace.bytes, minlength=paths).astype(np.int64)
        spread = crossings = 0
    else:
        connections, bytes_by_path = online.connections.astype(np.int64), online.bytes.astype(np.int64)
        spread, crossings = online.spread, online.crossings
    errors = path_errors(asked, connections)
    worst = int(np.nanargmax(np.abs(errors)))
    shares = splitter.shares()
    state_bytes = splitter.state_bytes
    nanoseconds = splitter.time_pick(sample, repetitions=TIMED_REPETITIONS)
    return Outcome(
        name=choice.name,
        label=choice.label,
        granularity=splitter.granularity,
        asked=asked.tolist(),
        shares=None if shares is None else shares.tolist(),
        got_connections=[int(count) for count in connections],
        got_bytes=[int(count) for count in bytes_by_path],
        mape_pct=mape(asked, connections),
        floor_pct=mape_floor(asked, len(trace)),
        expected_pct=_expected(splitter, asked, _hash(request), trace),
        worst_path=worst + 1,
        worst_path_error_pct=float(errors[worst]),
        byte_mape_pct=mape(asked, bytes_by_path),
        byte_floor_pct=byte_floor(asked, trace.bytes),
        ns_per_decision=float(np.median(nanoseconds)),
        ns_per_decision_min=float(np.min(nanoseconds)),
        state_bytes=state_bytes,
        spread_connections=spread,
        crossings=crossings,
        changes=[_moved(request, choice, change, trace, spread > 0) for change in request.changes],
    )


def _expected(splitter: Splitter, asked: npt.NDArray[np.float64], by: Hash, trace: Trace) -> float | None:
    """Expected MAPE of a technique under a perfect hash of this many bits, over the connections that it tells apart."""
    shares = splitter.shares()
    if shares is None or splitter.granularity != "stateless":
        return None
    results = by.all_keys()
    if results is not None:
        # So few results that the plan does not give each path its share of them.
        shares = np.bincount(splitter.pick(results), minlength=asked.size) / results.size
    return mape_expected(shares, asked, _independent(splitter, by, trace))


def _independent(splitter: Splitter, by: Hash, trace: Trace) -> int:
    """Number of connections that the technique places one by one: those of one slot, or of one key, go together."""
    table = splitter.table()
    if table is None or table.size >= 2**by.bits:
        return independent_connections(np.unique(trace.keys, return_counts=True)[1], 2**by.bits)
    slots = (trace.keys & np.uint64(0xFFFFFFFF)) % np.uint64(table.size)
    return independent_connections(np.bincount(slots.astype(np.int64)), table.size)


def _asked_after(request: Request, change: Change) -> npt.NDArray[np.float64]:
    """Shares asked for after a change, which no technique decides."""
    changed = Splitter("random", request.weights)
    changed.update(*change.after(request.weights))
    return changed.asked()


def _drained(request: Request, choice: Choice, change: Change, trace: Trace) -> Moved:
    """Effect of a drain: the first half of the connections stays, the second half goes elsewhere."""
    splitter = _fresh(request, choice)
    connections = Connections(splitter)
    half = len(trace) // 2
    old, new = trace.keys[:half], trace.keys[half:]
    before = _at_once(connections, old, begins=True)
    refused, asked, moved, counts = None, _asked_after(request, change), 0, None
    try:
        splitter.drain(change.path(len(request.weights)) - 1, now_ns=0, until_ns=1)
    except AnabranchError as error:
        refused = str(error)
    else:
        counts = np.bincount(_at_once(connections, new, begins=True), minlength=asked.size)
        moved = int(np.count_nonzero(_at_once(connections, old, begins=False) != before))
    return Moved(
        change=change.label(len(request.weights)),
        kind=change.kind,
        moved=None if counts is None else moved,
        minimum=0,
        asked=asked.tolist(),
        got_connections=None if counts is None else [int(count) for count in counts],
        mape_pct=None if counts is None else mape(asked, counts),
        floor_pct=mape_floor(asked, new.size),
        expected_pct=None,
        refused=refused,
    )


def _at_once(connections: Connections, keys: npt.NDArray[np.uint64], *, begins: bool) -> npt.NDArray[np.uint16]:
    """Paths of one packet of each connection, before the deadline."""
    return connections.pick(keys, np.full(keys.size, begins), np.zeros(keys.size, np.uint64))


def _moved(request: Request, choice: Choice, change: Change, trace: Trace, spreads: bool) -> Moved:
    if change.kind == "drain":
        return _drained(request, choice, change, trace)
    splitter = _fresh(request, choice)
    paths = len(request.weights)
    sizes = np.minimum(trace.bytes, np.iinfo(np.uint32).max).astype(np.uint32)
    before = splitter.pick(trace.keys, bytes=sizes)
    asked_after = _asked_after(request, change)
    if change.kind == "fail":
        minimum = int(np.count_nonzero(before == change.path(paths) - 1))
    else:
        asked_before = Splitter("random", request.weights).asked()
        minimum = round(total_variation(asked_before, asked_after) * len(trace))
    refused = None
    if not spreads:
        try:
            splitter.update(*change.after(request.weights))
        except AnabranchError as error:
            refused = str(error)
    seen = not spreads and refused is None
    after = splitter.pick(trace.keys, bytes=sizes) if seen else before
    connections = np.bincount(after, minlength=asked_after.size)
    return Moved(
        change=change.label(paths),
        kind=change.kind,
        moved=int(np.count_nonzero(before != after)) if seen else None,
        minimum=minimum,
        asked=asked_after.tolist(),
        got_connections=[int(count) for count in connections] if seen else None,
        mape_pct=mape(asked_after, connections) if seen else None,
        floor_pct=mape_floor(asked_after, len(trace)),
        expected_pct=_expected(splitter, asked_after, _hash(request), trace) if seen else None,
        refused=refused,
    )


def _versions() -> dict[str, str]:
    return {
        "anabranch": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": str(os.cpu_count()),
    }
