"""A load balancer written in Python: weights once per epoch, or a pick per decision."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

from anabranch._core import Group, Member, Packet, Scenario, View
from anabranch.errors import AnabranchError

RESOLUTION = 1000
"""Resolution of weights: they are rounded to this fraction of the largest."""


class Scheme:
    """A load balancer of one's own, for `ab.run("scenario.toml", scheme=Mine())`: override `weights` or `pick`.

    The scenario still decides what stays together (`routing.granularity`), and for `weights` how weights become picks
    (`routing.table`). An exception in a method leaves `ab.run` unchanged. An object keeps its memory for the next run:
    give each run a new one.
    """

    epoch: str = ""
    """Time between two calls of `weights`, such as "100 us"."""

    version: str | None = None
    """Name of exactly these rules, parameters included: results of the same name, version and scenario are not computed
    again. Without it every run is computed, into a folder of its own.
    """

    @property
    def name(self) -> str:
        """Name of the class."""
        return type(self).__name__

    def weights(self, group: Group, stats: Sequence[Member]) -> Iterable[float] | None:
        """Returns weights for the members of `group`, one each, or None to keep the current ones.

        Called at time zero, and when each epoch ends, for every group in use that has several members and one of them
        up. Only ratios count, to a thousandth of the largest. A member that is down gets nothing, whatever its weight.

        Args:
            group: `switch`, `members` (the switches they lead to), `weights` (as routing has them), `number`, `now_ns`.
            stats: For each member `name`, `sent_bytes` (in the epoch that ends now), `backlog_bytes`, `rate_bps`, `up`.

        """
        raise NotImplementedError

    def pick(self, packet: Packet, view: View) -> int:
        """Returns the member that takes `packet`, as an index into `view.members`.

        Called for every decision: for each packet, or for the first of each flow, flowlet or flowcell, according to the
        scenario's granularity; acknowledgements take paths of their own. Packets to a dead member are lost.

        Args:
            packet: `flow` (its row in `run.flows`), `size_bytes` (the flow's), `seq`, `payload_bytes`, `frame_bytes`,
                `kind` (data, ack, syn, syn-ack, datagram), `src`, `dst` (hosts), `destination_leaf`, `entropy` (what
                switches hash: one number for all packets of a connection in one direction).
            view: `now_ns`, `switch`, `group`, `members`, `backlog(i)` in bytes, `up(i)`, `random()` in [0, 1) from the
                simulation's own stream. It shows the present only while `pick` runs.

        """
        raise NotImplementedError


def asked(scheme: Scheme) -> str:
    """Name of the method that a scheme overrides: `weights` or `pick`.

    Raises:
        AnabranchError: it is no scheme, or overrides both or neither, or lacks its epoch.

    """
    if not isinstance(scheme, Scheme):
        raise AnabranchError(
            f"scheme: {scheme!r} is no ab.Scheme; give an object of a class that inherits it, as in scheme=Mine()"
        )
    own = [name for name in ("weights", "pick") if getattr(type(scheme), name) is not getattr(Scheme, name)]
    if len(own) != 1:
        what = "both weights and pick" if own else "neither weights nor pick"
        raise AnabranchError(f"scheme: {scheme.name} overrides {what}; override one of them")
    if own == ["weights"] and not scheme.epoch:
        raise AnabranchError(f'scheme: {scheme.name} has no epoch; say how often weights are asked: epoch = "100 us"')
    return own[0]


def hooks(scheme: Scheme) -> dict[str, Any]:
    """Hooks that `Scenario.run` calls."""
    if asked(scheme) == "pick":
        return {"pick": scheme.pick}

    def weights(group: Group, stats: Sequence[Member]) -> list[int] | None:
        said = scheme.weights(group, stats)
        return None if said is None else integers(said)

    return {"weights": weights, "epoch": scheme.epoch}


def integers(weights: Iterable[float]) -> list[int]:
    """Converts weights to small integers of the same ratios: exact if possible, else to a thousandth of the largest.

    Raises:
        AnabranchError: one is negative, not finite or no number.

    """
    given = list(weights)
    for weight in given:
        if not isinstance(weight, Real) or not math.isfinite(weight) or weight < 0:
            raise AnabranchError(f"weights: {weight!r} is no weight; return finite numbers from 0 up")
    largest = max(given, default=0)
    if all(isinstance(weight, Integral) for weight in given):
        whole = [int(weight) for weight in given]
        divisor = math.gcd(*whole) or 1
        if largest // divisor <= RESOLUTION:
            return [weight // divisor for weight in whole]
    if largest == 0:
        return [0] * len(given)
    return [max(round(weight / largest * RESOLUTION), int(weight > 0)) for weight in given]


def identity(scenario: Scenario, scheme: Scheme) -> str | None:
    """Identity of this scheme's results under this scenario; None if the scheme has no version."""
    if scheme.version is None:
        return None
    text = json.dumps([scenario.identity, scheme.name, scheme.version])
    return blake2b(text.encode(), digest_size=16).hexdigest()
