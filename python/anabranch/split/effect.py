"""Effect of a change on the connections of a trace: what moves, and how well they are split after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.files.errors import AnabranchError
from anabranch.split.change import Change
from anabranch.split.connections import Connections
from anabranch.split.expectation import expected_pct
from anabranch.split.request import Choice, Request
from anabranch.split.splitter import Splitter
from anabranch.split.stats.mape import mape, mape_floor, times_floor, total_variation
from anabranch.split.trace import Trace


@dataclass(frozen=True)
class Moved:
    """Effect of one change on the connections of the trace, all of them considered alive."""

    change: str
    kind: str
    moved: int | None
    """Number of connections that changed path; None if the technique keeps no path per connection."""
    minimum: int
    """Fewest that had to move: total variation of the desired shares; for a failure, those on the dead path; 0 for a
    drain and a bounded load.
    """
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


def effect(request: Request, choice: Choice, change: Change, trace: Trace, spreads: bool) -> Moved:
    """Effect of a change on what a technique has planned; `spreads`: it takes several paths for one connection.

    Raises:
        AnabranchError: the time of a drain is not within the trace.

    """
    if change.kind == "drain":
        return _drained(request, choice, change, trace)
    if change.kind == "bounded-load":
        return _bounded(request, choice, change, trace)
    return _planned_anew(request, choice, change, trace, spreads)


def _asked(request: Request, change: Change, *, after: bool) -> npt.NDArray[np.float64]:
    """Shares asked for before or after a change, which no technique decides."""
    group = Splitter("random", request.weights)
    change.begin(group, request.weights)
    if after:
        change.apply(group, request.weights)
    return group.asked()


def _planned_anew(request: Request, choice: Choice, change: Change, trace: Trace, spreads: bool) -> Moved:
    splitter = choice.splitter(request.weights)
    sizes = np.minimum(trace.bytes, np.iinfo(np.uint32).max).astype(np.uint32)
    asked = _asked(request, change, after=True)
    refused = after = None
    try:
        change.begin(splitter, request.weights)
        before = splitter.pick(trace.keys, bytes=sizes)
        if not spreads:
            change.apply(splitter, request.weights)
            after = splitter.pick(trace.keys, bytes=sizes)
    except AnabranchError as error:
        refused = str(error)
    if change.kind == "fail":
        minimum = int(np.count_nonzero(before == change.path(len(request.weights)) - 1))
    else:
        minimum = round(total_variation(_asked(request, change, after=False), asked) * len(trace))
    return _result(
        request,
        change,
        asked,
        len(trace),
        moved=None if after is None else int(np.count_nonzero(before != after)),
        minimum=minimum,
        paths=after,
        expected=None if after is None else expected_pct(splitter, asked, request.function, trace),
        refused=refused,
    )


def _drained(request: Request, choice: Choice, change: Change, trace: Trace) -> Moved:
    """Effect of a drain: connections that began before it stay, later ones go elsewhere."""
    splitter = choice.splitter(request.weights)
    connections = Connections(splitter)
    began = _before_drain(change, trace)
    old, new = trace.keys[began], trace.keys[~began]
    before = _at_once(connections, old, begins=True)
    refused = moved = paths = None
    try:
        splitter.drain(change.path(len(request.weights)) - 1, now_ns=0, until_ns=1)
    except AnabranchError as error:
        refused = str(error)
    else:
        paths = _at_once(connections, new, begins=True)
        moved = int(np.count_nonzero(_at_once(connections, old, begins=False) != before))
    asked = _asked(request, change, after=True)
    return _result(request, change, asked, new.size, moved=moved, minimum=0, paths=paths, refused=refused)


def _before_drain(change: Change, trace: Trace) -> npt.NDArray[np.bool_]:
    """Connections that begin before a drain: the first half, or those before its time."""
    at = change.numbers()
    if not at:
        return np.arange(len(trace)) < len(trace) // 2
    since = trace.first_ns - trace.first_ns.min()
    began: npt.NDArray[np.bool_] = since < at[0] * 1e9
    if began.all() or not began.any():
        raise AnabranchError(
            f"drain: {change.text}: no connection of the trace begins {'after' if began.all() else 'before'} it; "
            f"the last one begins {float(since.max()) / 1e9:.6g} s after the first"
        )
    return began


def _at_once(connections: Connections, keys: npt.NDArray[np.uint64], *, begins: bool) -> npt.NDArray[np.uint16]:
    """Paths of one packet of each connection, before the deadline."""
    return connections.pick(keys, np.full(keys.size, begins), np.zeros(keys.size, np.uint64))


def _bounded(request: Request, choice: Choice, change: Change, trace: Trace) -> Moved:
    """Effect of a bound on the load: connections come one after the other, and all stay."""
    splitter = choice.splitter(request.weights)
    refused = moved = paths = None
    try:
        paths = splitter.pick_bounded(trace.keys, np.zeros(len(request.weights), np.uint64), *change.numbers())
    except AnabranchError as error:
        refused = str(error)
    else:
        moved = int(np.count_nonzero(paths != splitter.pick(trace.keys)))
    asked = _asked(request, change, after=True)
    return _result(request, change, asked, len(trace), moved=moved, minimum=0, paths=paths, refused=refused)


def _result(
    request: Request,
    change: Change,
    asked: npt.NDArray[np.float64],
    connections: int,
    *,
    moved: int | None,
    minimum: int,
    paths: npt.NDArray[np.uint16] | None,
    expected: float | None = None,
    refused: str | None,
) -> Moved:
    counts = None if paths is None else np.bincount(paths, minlength=asked.size)
    return Moved(
        change=change.label(len(request.weights)),
        kind=change.kind,
        moved=moved,
        minimum=minimum,
        asked=asked.tolist(),
        got_connections=None if counts is None else [int(count) for count in counts],
        mape_pct=None if counts is None else mape(asked, counts),
        floor_pct=mape_floor(asked, connections),
        expected_pct=expected,
        refused=refused,
    )
