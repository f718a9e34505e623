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
from anabranch.split.effect import Moved, effect
from anabranch.split.expectation import expected_pct
from anabranch.split.request import Choice, Request
from anabranch.split.splitter import Splitter
from anabranch.split.stats.mape import byte_floor, mape, mape_band, mape_floor, path_errors, times_floor
from anabranch.split.stats.uniformity import lost_expected_pct, lost_pct
from anabranch.split.trace import Carried, Progress, Trace
from anabranch.split.traffic import traffic

TIMED_DECISIONS = 1 << 18
TIMED_REPETITIONS = 7


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
    bits = request.function.bits
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


def _check(request: Request, change: Change) -> None:
    """Refuses a change that leaves nothing to split by, before the traffic is read."""
    splitter = Splitter("random", request.weights)
    try:
        change.begin(splitter, request.weights)
        change.apply(splitter, request.weights)
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
        return choice.splitter(request.weights)
    except AnabranchError as error:
        # A wrong parameter is the user's error; a limit of the technique is a finding.
        if choice.parameters:
            raise AnabranchError(f"technique: {choice.label}: {error}") from None
        return str(error)


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
        expected_pct=expected_pct(splitter, asked, request.function, trace),
        worst_path=worst + 1,
        worst_path_error_pct=float(errors[worst]),
        byte_mape_pct=mape(asked, bytes_by_path),
        byte_floor_pct=byte_floor(asked, trace.bytes),
        ns_per_decision=float(np.median(nanoseconds)),
        ns_per_decision_min=float(np.min(nanoseconds)),
        state_bytes=state_bytes,
        spread_connections=spread,
        crossings=crossings,
        changes=[effect(request, choice, change, trace, spread > 0) for change in request.changes],
    )


def _versions() -> dict[str, str]:
    return {
        "anabranch": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": str(os.cpu_count()),
    }
