"""Routes and rules that come before a plan's, or that a plan comes before (`fib_lookup`, `fib_rules_lookup`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.nexthop import Prefix, Route, Rule
from anabranch.deploy.targets.linux.desired import Desired
from anabranch.deploy.targets.linux.observe import PROTOCOL, Observed
from anabranch.deploy.targets.linux.plan_file import WeightedHops

PROTOCOLS = {
    2: "the kernel",
    3: "boot",
    4: "static",
    9: "router advertisements",
    11: "zebra",
    12: "bird",
    16: "dhcp",
    PROTOCOL: "another plan",
    186: "bgp",
    187: "isis",
    188: "ospf",
    189: "rip",
    192: "eigrp",
}
"""Who makes routes, by the number of the protocol (`rtnetlink.h`)."""


@dataclass(frozen=True)
class Precedence:
    """What stands beside a group's routes."""

    notes: tuple[str, ...]
    bypassed: str | None
    """Why no packet comes to the group, or to some of its destinations as a whole; `None` where some do."""


def beside(observed: Observed, desired: Desired) -> list[Precedence]:
    """What stands beside the routes of each group of a plan."""
    routes = [one for one in kernel.routes(observed.connection) if observed.state.routes.get(one.key) != one]
    rules = kernel.rules(observed.connection)
    return [precedence(one.planned, routes, rules) for one in desired.groups]


def precedence(planned: WeightedHops, routes: Sequence[Route], rules: Sequence[Rule]) -> Precedence:
    """What comes before the routes of a group, and what they come before.

    Args:
        planned: the group of a plan.
        routes: routes of everybody else.
        rules: all rules, in the kernel's order.

    """
    version, name = planned.prefixes[0].version, planned.name
    near = [route for route in routes if route.table == planned.table]
    bypassed = _without_rule(planned, [rule for rule in rules if rule.version == version])
    notes = [f"group {name}: {bypassed}"] if bypassed else []
    for prefix in planned.prefixes:
        same = [route for route in near if route.prefix == prefix]
        first = next((route for route in same if route.metric < planned.metric), None)
        if first is not None:
            maker = f"the route of {_maker(first)} with metric {first.metric}"
            before = f"{prefix}: {maker} comes before metric {planned.metric}"
            notes.append(f"group {name}: {before}; give the plan a lower metric")
            bypassed = bypassed or before
        notes += [f"group {name}: {note}" for note in _taken_over(planned, prefix, same)]
        notes += [f"group {name}: {note}" for note in _longer(prefix, near)]
    return Precedence(tuple(notes), bypassed)


def _without_rule(planned: WeightedHops, rules: Sequence[Rule]) -> str | None:
    if any(rule.table == planned.table for rule in rules):
        return None
    family = "-6 " if planned.prefixes[0].version == 6 else ""
    return (
        f"no rule leads to table {planned.table}, so no packet comes to it; "
        f"ip {family}rule add to {planned.prefixes[0]} lookup {planned.table} makes one"
    )


def _taken_over(planned: WeightedHops, prefix: Prefix, same: Sequence[Route]) -> Iterator[str]:
    for route in same:
        if route.metric > planned.metric:
            yield (
                f"{prefix}: comes before the route of {_maker(route)} with metric {route.metric}: what becomes of that "
                "one has no effect while the plan stands"
            )


def _longer(prefix: Prefix, near: Sequence[Route]) -> Iterator[str]:
    inside = [route for route in near if route.prefix != prefix and _within(route.prefix, prefix)]
    if inside:
        first = min(inside, key=lambda route: route.prefix.prefixlen)
        others = "" if len(inside) == 1 else f" and {len(inside) - 1} more"
        yield f"{prefix}: longer prefixes take their part of it: {first.prefix} of {_maker(first)}{others}"


def _within(inner: Prefix, outer: Prefix) -> bool:
    return inner.prefixlen >= outer.prefixlen and inner.network_address in outer


def _maker(route: Route) -> str:
    return PROTOCOLS.get(route.protocol, f"protocol {route.protocol}")
