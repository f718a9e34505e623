"""What must stand in a kernel for a plan, given what stands there and which devices live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from anabranch.errors import AnabranchError
from anabranch.netlink.link_state import lives, unusable
from anabranch.netlink.nexthop import MPATH, Device, Nexthop, NexthopGroup, Resilience, Route, Way
from anabranch.targets.linux import recipes as linux
from anabranch.targets.linux.plan_file import LinuxPlan, WeightedWays
from anabranch.targets.linux.state import NEXTHOPS, PROTOCOL, State, first_number
from anabranch.targets.plan.group import Group, fitted, group, short
from anabranch.targets.plan.group_keys import refuse_error
from anabranch.targets.plan.recipe import Recipe

BUCKETS = "buckets"


@dataclass(frozen=True)
class Installed:
    """One group of a plan as it is to stand."""

    planned: WeightedWays
    group_id: int
    up: tuple[bool, ...]
    """Which paths have a device that is up, with a carrier."""
    asked: tuple[float, ...]
    """Share of each path by the weights, the dead none."""
    recipe: Recipe
    written: tuple[int, ...]
    """Weights that the kernel is given."""


@dataclass(frozen=True)
class Wanted:
    """A plan as it is to stand in a kernel."""

    state: State
    groups: tuple[Installed, ...]
    warnings: tuple[str, ...]


def wanted(plan: LinuxPlan, held: State, devices: Mapping[str, Device], weight_max: int) -> Wanted:
    """What must stand there.

    A nexthop keeps its number as long as its way is in the plan, a group as long as its routes lead to it and its kind
    and number of buckets stay: the kernel changes neither. Paths without a device or a carrier are left out, for the
    kernel takes none and has removed them when they lost it (`nexthop_flush_dev`); applying again brings back those
    that live.

    Raises:
        AnabranchError: a split further off than the plan says it may be, a group without a path that lives, weights
            that cannot be.

    """
    warnings: list[str] = []
    numbers = _nexthop_numbers(plan, held)
    nexthops: dict[int, Nexthop] = {}
    groups: dict[int, NexthopGroup] = {}
    routes = {}
    found = []
    for planned in plan.groups:
        up = tuple(way.device in devices and lives(devices[way.device]) for way in planned.ways)
        shape = group(planned.weights, [place for place, one in enumerate(up, 1) if not one] if any(up) else ())
        if not any(one and int(w) for one, w in zip(up, shape.integers, strict=True)):
            names = ", ".join(str(way) for way in planned.ways)
            raise AnabranchError(f"{plan.file}: group {planned.name}: ports: {names}: none is up; bring one up first")
        if not all(up):
            dead = unusable(
                {str(way): way.device for way, one in zip(planned.ways, up, strict=True) if not one}, devices
            )
            warnings.append(
                f"group {planned.name}: left out {dead}; the kernel does not bring it back by "
                "itself, anabranch apply does"
            )
        weights, exact = fitted(shape.integers, weight_max)
        recipe = _recipe(planned, shape, weights, _held_group(planned, held))
        judged = recipe
        if not all(up):
            # A path that is down must not make a plan that was right a wrong one.
            whole = group(planned.weights)
            judged = _recipe(planned, whole, fitted(whole.integers, weight_max)[0], _held_group(planned, held))
        refuse_error(plan.file, "linux", planned, judged.name, judged.mape_pct)
        if recipe.mape_pct > planned.error_pct:
            reason = "" if exact else f": this kernel takes weights to {weight_max}, {short(weights)} are written"
            warnings.append(
                f"group {planned.name}: {recipe.name} is {recipe.mape_pct:.3g} % off (MAPE), over "
                f"{planned.error_pct:g} %{reason}"
            )
        members = tuple(
            (numbers[way], weight) for way, weight, one in zip(planned.ways, weights, up, strict=True) if one and weight
        )
        nexthops |= {
            numbers[way]: Nexthop(numbers[way], way, PROTOCOL) for way in planned.ways if numbers[way] in dict(members)
        }
        resilience = _resilience(planned, recipe)
        number = _group_number(plan, planned, held, resilience, groups)
        groups[number] = NexthopGroup(number, members, resilience, PROTOCOL)
        for prefix in planned.prefixes:
            route = Route(prefix, planned.table, planned.metric, number, PROTOCOL)
            routes[route.key] = route
        asked = tuple(float(share) for share in shape.asked)
        found.append(Installed(planned, number, up, asked, recipe, tuple(weights)))
    return Wanted(State(nexthops, groups, routes), tuple(found), tuple(warnings))


def _recipe(planned: WeightedWays, shape: Group, weights: list[int], held: NexthopGroup | None) -> Recipe:
    if planned.recipe == MPATH:
        return linux.threshold(shape, weights)
    if planned.buckets is not None:
        return linux.resilient(shape, weights, planned.buckets)
    if held is not None and held.resilience is not None:
        # Another number of buckets is another group: every connection may move.
        kept = linux.resilient(shape, weights, held.resilience.buckets)
        if kept.mape_pct <= planned.error_pct:
            return kept
    return linux.least_resilient(shape, weights, planned.error_pct)


def _resilience(planned: WeightedWays, recipe: Recipe) -> Resilience | None:
    if recipe.unit != BUCKETS:
        return None
    return Resilience(recipe.used, round(planned.idle_timer_s * 100), round(planned.unbalanced_timer_s * 100))


def _nexthop_numbers(plan: LinuxPlan, held: State) -> dict[Way, int]:
    found = {one.way: number for number, one in held.nexthops.items()}
    free = (number for number in count(first_number(plan.owner) + NEXTHOPS) if number not in held.nexthops)
    ways = dict.fromkeys(way for planned in plan.groups for way in planned.ways)
    return {way: found[way] if way in found else next(free) for way in ways}


def _held_group(planned: WeightedWays, held: State) -> NexthopGroup | None:
    """The group that its routes lead to now."""
    for prefix in planned.prefixes:
        route = held.routes.get((prefix, planned.table, planned.metric))
        if route is not None and route.nexthop_id in held.groups:
            return held.groups[route.nexthop_id]
    return None


def _group_number(
    plan: LinuxPlan,
    planned: WeightedWays,
    held: State,
    resilience: Resilience | None,
    taken: Mapping[int, NexthopGroup],
) -> int:
    """Of the group that its routes lead to now, if the kernel can change it into what is wanted; else a free one."""
    before = _held_group(planned, held)
    if before is not None and before.group_id not in taken:
        old = before.resilience
        if (old and old.buckets) == (resilience and resilience.buckets):
            return before.group_id
    return next(n for n in count(first_number(plan.owner)) if n not in held.groups and n not in taken)
