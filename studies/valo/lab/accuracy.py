"""How exactly schemes split (the paper's Fig. 10): real connections through a real switch, counted at its ports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np

from anabranch.deploy.targets.ovs.split import Split
from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic.bursts import Bytes, frames
from anabranch.lab.traffic.paced_sender import LostError, PacedSender
from anabranch.split.splitter import Splitter
from anabranch.split.stats.mape import mape
from anabranch.split.tuples import five_tuples

from . import kernel
from .expectation import Expectation, Shares, expectation
from .place import EDGES, Place

SCHEMES = {
    "hash": "scoring",
    "hash-gravity": "VALO",
    "default": "today's default (dp_hash)",
    "dp_hash-twin": "dp_hash of 256 slots",
    "multipath": "a rule per slot, 256 slots",
}
"""Recipes of Open vSwitch, and what they are called beside the paper."""
KERNEL_SCHEMES = {
    "kernel-scoring": "scoring, in the kernel",
    "kernel-gravity": "VALO, in the kernel",
    "kernel-slots": "min-move, 4096 slots",
    "kernel-rendezvous": "log-rendezvous, integers",
}
"""Schemes of datapaths in the kernel (`kernel.RECIPES`)."""
ALL_SCHEMES = SCHEMES | KERNEL_SCHEMES
WEIGHT_MIN, WEIGHT_MAX = 1, 100
"""Weights are drawn evenly from these (section 5.1)."""
SEED = 2025
HOST_MIN, HOST_MAX = 2, 254
"""Last byte of an address: nobody has these, so nobody answers."""
PORT_MIN = 1024
ATTEMPTS = 3
SETTLE_S, SETTLE_STEP_S = 10.0, 0.02


@dataclass
class Trial:
    """One draw of weights, and what each scheme made of the same connections under it."""

    weights: list[int]
    counts: dict[str, list[int]] = field(default_factory=dict)
    """Connections by path, scheme by scheme."""

    def mape_pct(self, scheme: str) -> float:
        """The scheme's error."""
        return mape(_asked(self.weights), self.counts[scheme])


@dataclass(frozen=True)
class Line:
    """Results of one scheme with a number of paths."""

    paths: int
    scheme: str
    connections: int
    trials: int
    measured_pct: float
    worst_pct: float
    """Worst of the trials."""
    expected: Expectation

    @property
    def as_expected(self) -> bool:
        """Whether theory holds."""
        return self.expected.has(self.measured_pct)


@contextmanager
def senders(places: Sequence[Place]) -> Iterator[list[PacedSender]]:
    """A sender in each fabric, from the first host of one edge to the first of the other."""
    with ExitStack() as stack:
        yield [stack.enter_context(_sender(place)) for place in places]


async def measure(
    places: Sequence[tuple[Place, Sequence[str]]],
    sending: Sequence[PacedSender],
    trial: tuple[int, int],
    connections: int,
    progress: Callable[[], None],
) -> Trial:
    """Runs one trial, `trial` being the number of paths and its own: all schemes see its weights and connections.

    `places` are fabrics with the schemes that are tried on each, and `sending` their senders; `progress` is called with
    each pass of the connections.

    Raises:
        AnabranchError: a connection is lost or counted twice.

    """
    paths, _ = trial
    random = np.random.Generator(np.random.PCG64([SEED, *trial]))
    drawn = Trial(random.integers(WEIGHT_MIN, WEIGHT_MAX + 1, paths).tolist())
    # Addresses and MACs are alike in all places.
    firsts = _first_packets(places[0][0], connections, random)
    for (place, schemes), sender in zip(places, sending, strict=True):
        for scheme in schemes:
            await place.split(scheme, drawn.weights)
            drawn.counts[scheme] = await _pass(place, sender, firsts, paths)
            progress()
    return drawn


def _sender(place: Place) -> PacedSender:
    source, target = (place.lab.hosts[place.hosts(edge)[0]] for edge in EDGES)
    return PacedSender((source.namespace, source.interface), (target.namespace, target.interface))


def _first_packets(fabric: Place, connections: int, random: np.random.Generator) -> Bytes:
    """A SYN each of connections between any hosts of the edges' prefixes: addresses and ports are drawn evenly."""
    macs = [fabric.lab.hosts[fabric.hosts(edge)[0]].mac for edge in EDGES]
    ends = []
    for edge in EDGES:
        rows = np.tile(np.frombuffer(fabric.prefix(edge).network_address.packed, np.uint8), (connections, 1))
        rows[:, 3] = random.integers(HOST_MIN, HOST_MAX + 1, connections)
        ends.append(rows)
    ports = random.integers(PORT_MIN, 1 << 16, (2, connections))
    return frames(five_tuples(ends[0], ends[1], "tcp", ports[0], ports[1]), macs[0], macs[1])


async def _pass(fabric: Place, sender: PacedSender, firsts: Bytes, paths: int) -> list[int]:
    """Connections by path; where a frame is lost, as on a machine that does much else, all of them once more."""
    for attempt in range(ATTEMPTS):
        fabric.forget_flows()
        before = await fabric.transmitted(EDGES[0], paths)
        try:
            await asyncio.to_thread(sender.send, firsts)
        except LostError:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            break
    return await _counted(fabric, before, len(firsts))


async def _counted(fabric: Place, before: Sequence[int], connections: int) -> list[int]:
    """Connections by path since `before`, once the counters have caught up."""
    waited = 0.0
    while True:
        now = await fabric.transmitted(EDGES[0], len(before))
        counts = [after - earlier for after, earlier in zip(now, before, strict=True)]
        if sum(counts) == connections:
            return counts
        if sum(counts) > connections or waited > SETTLE_S:
            raise AnabranchError(f"{EDGES[0]}: {sum(counts)} connections counted of {connections}; is another lab on?")
        await asyncio.sleep(SETTLE_STEP_S)
        waited += SETTLE_STEP_S


def lines(trials: Sequence[Trial], connections: int) -> list[Line]:
    """The table's lines for trials of one number of paths."""
    paths = len(trials[0].weights)
    rows = []
    for scheme in trials[0].counts:
        errors = [trial.mape_pct(scheme) for trial in trials]
        rows.append(
            Line(
                paths,
                scheme,
                connections,
                len(trials),
                float(np.mean(errors)),
                max(errors),
                expectation(
                    [_asked(trial.weights) for trial in trials],
                    _shares(scheme, [trial.weights for trial in trials]),
                    connections,
                ),
            )
        )
    return rows


def _asked(weights: Sequence[int]) -> Shares:
    return Splitter("random", weights).asked()


def _shares(scheme: str, draws: Sequence[Sequence[int]]) -> list[Shares]:
    """Shares that a recipe really gives, under a perfect hash."""
    if scheme in KERNEL_SCHEMES:
        return [np.array(kernel.shares(scheme, weights)) for weights in draws]
    return [np.array(Split(0, tuple(w), tuple(range(1, len(w) + 1)), scheme).shares()) for w in draws]
