"""Where FRR or the kernel differs from a plan: bgpd from the plan, zebra from bgpd, the kernel from zebra."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from anabranch.deploy.netlink.nexthop import Prefix
from anabranch.deploy.targets.frr.bandwidth import BYTES_PER_MBIT, installed
from anabranch.deploy.targets.frr.desired import Desired
from anabranch.deploy.targets.frr.observe import Observed
from anabranch.deploy.targets.protocol import Change
from anabranch.files.errors import AnabranchError

BGP, ZEBRA = 186, 11
"""Protocols of routes that zebra makes of BGP's (rtnetlink's numbers)."""
Differences = tuple[str, str, str]
"""Who differs, what it has, and what it should have."""


def change(observed: Observed, desired: Desired) -> Change:
    """The differences. There is nothing to commit: FRR is changed by its configuration."""
    differences = [
        (prefix, each)
        for group in desired.groups
        for prefix in group.planned.prefixes
        for each in _differences(prefix, group.bytes_per_s, observed)
    ]
    lines = [] if observed.bgpd is not None else ["- bgpd: it is not running"]
    for prefix, (who, has, should) in differences:
        lines += [f"~- {who} {prefix}: {has}", f"~+ {who} {prefix}: {should}"]
    prefixes = sum(len(group.planned.prefixes) for group in desired.groups)
    return Change(
        lines, len(differences) + (observed.bgpd is None), f"{prefixes} destination" + "s" * (prefixes != 1), refuse
    )


def refuse() -> NoReturn:
    """Raises the error of whoever would change FRR."""
    raise AnabranchError("target frr: apply: FRR takes its configuration from vtysh; load it with `vtysh -f frr.conf`")


def _differences(prefix: Prefix, asked: Mapping[str, int], observed: Observed) -> Iterator[Differences]:
    """Each stands against the one before it, so that the first that is wrong is named and not those that follow it."""
    announced = observed.bgpd.get(prefix, {}) if observed.bgpd is not None else asked
    if announced != asked:
        yield "bgpd", _bandwidths(announced), _bandwidths(asked)
    given = dict(zip(announced, installed(list(announced.values())), strict=True))
    route = observed.zebra.get(prefix)
    weights = route.weights if route is not None else {}
    if weights != given:
        maker = "" if route is None or route.protocol == "bgp" else f"a route of {route.protocol}: "
        yield "zebra", maker + _weights(weights), _weights(given)
    entry = observed.kernel.get(prefix)
    kept = dict(entry.weights) if entry is not None else {}
    if len(kept) == 1:
        kept = dict.fromkeys(kept, 1)
    if kept != weights:
        foreign = entry is not None and entry.route.protocol not in (BGP, ZEBRA)
        maker = f"a route of protocol {entry.route.protocol}: " if entry is not None and foreign else ""
        yield "kernel", maker + _weights(kept), _weights(weights)


def _bandwidths(by_device: Mapping[str, int]) -> str:
    rows = [
        f"{name} {value / BYTES_PER_MBIT:g} Mbit/s" if value else f"{name} without a bandwidth"
        for name, value in sorted(by_device.items())
    ]
    return _joined(rows)


def _weights(by_device: Mapping[str, int]) -> str:
    return _joined([f"{name} {weight}" for name, weight in sorted(by_device.items())])


def _joined(rows: Sequence[str]) -> str:
    return ", ".join(rows) or "no path"
