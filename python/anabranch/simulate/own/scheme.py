"""A load balancer written in Python: weights once per epoch, a pick per decision, or entropy at hosts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

from anabranch._core import Ack, Connection, Group, Member, Packet, Scenario, View
from anabranch.files.errors import AnabranchError

RESOLUTION = 1000
"""Resolution of weights: they are rounded to this fraction of the largest."""
HOSTS = "hosts"
"""Door of the host methods, as manifests call it."""
HOST_METHODS = ("opened", "send", "acknowledged", "timed_out", "closed")


class Scheme:
    """A load balancer of one's own, for `ab.run("scenario.toml", scheme=Mine())`, or for an axis of a study.

    Override `weights` or `pick`, which switches ask, or any of `opened`, `send`, `acknowledged`, `timed_out` and
    `closed`, which hosts ask. The scenario still decides what stays together (`routing.granularity`), and how weights
    become picks (`routing.table`). An exception in a method leaves `ab.run` unchanged. An object keeps its memory for
    the next run: give each run a new one.
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

    def opened(self, connection: Connection) -> int | None:
        """Returns the entropy of a connection that opens, or None for 0, which leaves it where ECMP sends it.

        Switches hash the entropy with the flow's identity: another one is another path, if the hash says so.

        Args:
            connection: `flow` (its row in `run.flows`), `size_bytes` (the flow's), `src`, `dst` (hosts), `entropy` (the
                current one), `now_ns`, `state` (None, and yours to set), `random()` in [0, 1) and `draw_entropy()`,
                both from the simulation's own stream of the host. The same object is there at every call.

        """
        raise NotImplementedError

    def send(self, packet: Packet, connection: Connection) -> int | None:
        """Returns the entropy of `packet` and those after it, or None to keep the current one.

        Called for each packet that the sender of data sends; without this method sending costs no Python.
        Acknowledgements take paths of their own.

        Args:
            packet: As in `pick`.
            connection: As in `opened`.

        """
        raise NotImplementedError

    def acknowledged(self, ack: Ack, connection: Connection) -> int | None:
        """Returns the entropy of the packets from now on, or None to keep the current one.

        Called for each acknowledgement that reaches the sender, before its transport sees it.

        Args:
            ack: `bytes` (acknowledged for the first time), `marked_bytes` (of them, as its ECN echo reports),
                `entropy` (of the packet that caused it, or None), `marked` (whether that packet had a congestion mark),
                `rtt_ns` (since that packet was sent), `round_ended` (whether a round trip ended: more is acknowledged
                than had been sent when it began), `idle` (whether nothing is in flight now).
            connection: As in `opened`.

        """
        raise NotImplementedError

    def timed_out(self, connection: Connection) -> int | None:
        """Returns the entropy of the packets from now on, or None to keep the current one.

        Called when the retransmission timer has expired, before the sender sends again.

        Args:
            connection: As in `opened`.

        """
        raise NotImplementedError

    def closed(self, connection: Connection) -> None:
        """Learns that a connection ended.

        Args:
            connection: As in `opened`.

        """
        raise NotImplementedError


def overridden(scheme: Scheme) -> list[str]:
    """Names of the methods that a scheme overrides."""
    methods = ("weights", "pick", *HOST_METHODS)
    return [name for name in methods if getattr(type(scheme), name) is not getattr(Scheme, name)]


def asked(scheme: Scheme) -> str:
    """Part of a scheme that the simulation asks: `weights`, `pick` or `hosts`.

    Raises:
        AnabranchError: it is no scheme, or overrides methods of none of them or of several, or lacks its epoch.

    """
    if not isinstance(scheme, Scheme):
        raise AnabranchError(
            f"scheme: {scheme!r} is no ab.Scheme; give an object of a class that inherits it, as in scheme=Mine()"
        )
    own = overridden(scheme)
    parts = list(dict.fromkeys(HOSTS if name in HOST_METHODS else name for name in own))
    if not parts:
        raise AnabranchError(
            f"scheme: {scheme.name} overrides no method; override weights or pick for switches, or some of "
            f"{', '.join(HOST_METHODS)} for hosts"
        )
    if len(parts) > 1:
        raise AnabranchError(
            f"scheme: {scheme.name} overrides {' and '.join(own)}; override weights alone, pick alone, or "
            "methods of hosts"
        )
    if parts == ["weights"] and not scheme.epoch:
        raise AnabranchError(f'scheme: {scheme.name} has no epoch; say how often weights are asked: epoch = "100 us"')
    return parts[0]


def hooks(scheme: Scheme) -> dict[str, Any]:
    """Hooks that `Scenario.run` calls."""
    part = asked(scheme)
    if part == "pick":
        return {"pick": scheme.pick}
    if part == HOSTS:
        own = overridden(scheme)
        return {HOSTS: {name: getattr(scheme, name) if name in own else None for name in HOST_METHODS}}

    def weights(group: Group, stats: Sequence[Member]) -> list[int] | None:
        answer = scheme.weights(group, stats)
        return None if answer is None else integers(answer)

    return {"weights": weights, "epoch": scheme.epoch}


def about(scheme: Scheme) -> dict[str, Any]:
    """Description of a scheme for the manifest of its run."""
    part = asked(scheme)
    described: dict[str, Any] = {"name": scheme.name, "version": scheme.version, "asked": part}
    if part == "weights":
        described["epoch"] = scheme.epoch
    elif part == HOSTS:
        described["methods"] = overridden(scheme)
    return described


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
