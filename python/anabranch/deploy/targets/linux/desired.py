"""The desired nexthops, groups and routes for a plan, given the observed ones and the devices that live."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import count

from anabranch.deploy.netlink.link_state import lives, unusable
from anabranch.deploy.netlink.nexthop import MPATH, Device, Hop, Nexthop, NexthopGroup, Prefix, Resilience, Route
from anabranch.deploy.targets.linux import hash_policy
from anabranch.deploy.targets.linux import predict as linux
from anabranch.deploy.targets.linux.hash_policy import DESTINATION_PORT, FLOW_LABEL, SOURCE_PORT
from anabranch.deploy.targets.linux.observe import NEXTHOPS, PROTOCOL, LinuxState, first_number
from anabranch.deploy.targets.linux.plan_file import LinuxPlan, WeightedHops
from anabranch.deploy.targets.plan.group import Group, fitted, group, short
from anabranch.deploy.targets.plan.group_keys import refuse_error
from anabranch.deploy.targets.plan.recipe import Recipe
from anabranch.files.errors import AnabranchError

BUCKETS = "buckets"
PORTS = SOURCE_PORT | DESTINATION_PORT


@dataclass(frozen=True)
class Installed:
    """One group of a plan as it is to stand."""

    planned: WeightedHops
    group_id: int
    up: tuple[bool, ...]
    """Which paths have a device that is up, with a carrier, and no gateway that is silent."""
    asked: tuple[float, ...]
    """Share of each path by the weights, the dead none."""
    recipe: Recipe
    written: tuple[int, ...]
    """Weights that the kernel is given."""
    bypassed: str | None = None
    """Why packets do not come to the group at all, or to some destinations of it; `None` where they do."""


@dataclass(frozen=True)
class Desired:
    """A plan as it is to stand in a kernel."""

    state: LinuxState
    groups: tuple[Installed, ...]
    warnings: tuple[str, ...]


def desired(
    plan: LinuxPlan,
    observed: LinuxState,
    devices: Mapping[str, Device],
    weight_max: int,
    silent: Collection[Hop] = (),
    *,
    drops: bool = False,
) -> Desired:
    """The desired state.

    A nexthop keeps its number as long as its way is in the plan, a group as long as its routes lead to it and its kind
    and number of buckets stay: the kernel changes neither. Paths without a device or a carrier are left out, for the
    kernel takes none and has removed them when they lost it (`nexthop_flush_dev`); applying again brings back those
    that live. A path with a `silent` gateway is left out likewise, unless no other is there.

    A group without a path that lives is an error, or with `drops` has routes that drop: without any, those of others
    would take its packets.

    Raises:
        AnabranchError: a split further off than the plan says it may be, a group without a path that lives, weights
            that cannot be.

    """
    warnings: list[str] = []
    numbers = _nexthop_numbers(plan, observed)
    nexthops: dict[int, Nexthop] = {}
    groups: dict[int, NexthopGroup] = {}
    routes: dict[tuple[Prefix, int, int], Route] = {}
    installed = []
    free = (number for number in count(first_number(plan.owner)) if number not in observed.groups)
    for planned in plan.groups:
        linked = tuple(hop.device in devices and lives(devices[hop.device]) for hop in planned.hops)
        up = tuple(one and hop not in silent for one, hop in zip(linked, planned.hops, strict=True))
        if drops and not _carries(planned, up):
            blackhole = Hop(planned.prefixes[0].version, "")
            nexthops[numbers[blackhole]] = Nexthop(numbers[blackhole], blackhole, PROTOCOL)
            routes |= {route.key: route for route in _routes(planned, numbers[blackhole])}
            continue
        warnings += _unanswered(planned, linked, up)
        up = up if _carries(planned, up) else linked
        shape = group(planned.weights, [path for path, one in enumerate(up, 1) if not one] if any(up) else ())
        if not _carries(planned, up):
            names = ", ".join(str(hop) for hop in planned.hops)
            raise AnabranchError(f"{plan.file}: group {planned.name}: ports: {names}: none is up; bring one up first")
        if not all(linked):
            dead = unusable(
                {str(hop): hop.device for hop, one in zip(planned.hops, linked, strict=True) if not one}, devices
            )
            warnings.append(
                f"group {planned.name}: left out {dead}; the kernel does not bring it back by "
                "itself, anabranch apply does"
            )
        weights, exact = fitted(shape.integers, weight_max)
        recipe = _recipe(planned, shape, weights, _observed_group(planned, observed))
        judged = recipe
        if not all(up):
            # A path that is down must not turn a right plan into a wrong one.
            whole = group(planned.weights)
            judged = _recipe(planned, whole, fitted(whole.integers, weight_max)[0], _observed_group(planned, observed))
        refuse_error(plan.file, "linux", planned, judged.name, judged.mape_pct)
        if recipe.mape_pct > planned.error_pct:
            reason = "" if exact else f": this kernel takes weights to {weight_max}, {short(weights)} are written"
            warnings.append(
                f"group {planned.name}: {recipe.name} is {recipe.mape_pct:.3g} % off (MAPE), over "
                f"{planned.error_pct:g} %{reason}"
            )
        members = tuple(
            (numbers[hop], weight) for hop, weight, one in zip(planned.hops, weights, up, strict=True) if one and weight
        )
        carrying = dict(members)
        nexthops |= {
            numbers[hop]: Nexthop(numbers[hop], hop, PROTOCOL) for hop in planned.hops if numbers[hop] in carrying
        }
        resilience = _resilience(planned, recipe)
        number = _group_number(planned, observed, resilience, groups, free)
        groups[number] = NexthopGroup(number, members, resilience, PROTOCOL)
        routes |= {route.key: route for route in _routes(planned, number)}
        asked = tuple(float(share) for share in shape.asked)
        installed.append(Installed(planned, number, up, asked, recipe, tuple(weights)))
    return Desired(LinuxState(nexthops, groups, routes), tuple(installed), tuple(warnings))


def _routes(planned: WeightedHops, number: int) -> list[Route]:
    return [Route(prefix, planned.table, planned.metric, number, PROTOCOL) for prefix in planned.prefixes]


def _carries(planned: WeightedHops, up: Sequence[bool]) -> bool:
    """Whether a path that is up has a share."""
    return any(one and Decimal(weight) for one, weight in zip(up, planned.weights, strict=True))


def _unanswered(planned: WeightedHops, linked: Sequence[bool], up: Sequence[bool]) -> list[str]:
    """A note on paths whose link is up and whose gateway is silent."""
    hops = [hop for hop, has, one in zip(planned.hops, linked, up, strict=True) if has and not one]
    if not hops:
        return []
    names = ", ".join(str(hop) for hop in hops)
    if _carries(planned, up):
        return [
            f"group {planned.name}: left out, for the gateway does not answer: {names}; anabranch apply brings it back "
            "once it does"
        ]
    return [f"group {planned.name}: no gateway answers: {names}; they stay, for there is no other path"]


def _recipe(planned: WeightedHops, shape: Group, weights: list[int], observed: NexthopGroup | None) -> Recipe:
    if planned.recipe == MPATH:
        return _threshold(shape, tuple(weights))
    if planned.buckets is not None:
        return _resilient(shape, tuple(weights), planned.buckets)
    if observed is not None and observed.resilience is not None:
        # Another number of buckets is another group: every connection may move, for a path that comes back soon.
        kept = _resilient(shape, tuple(weights), observed.resilience.buckets)
        if shape.degraded or kept.mape_pct <= planned.error_pct:
            return kept
    return _least_resilient(shape, tuple(weights), planned.error_pct)


# In a fabric many groups have the same weights.
_threshold = lru_cache(maxsize=1 << 12)(linux.threshold)
_resilient = lru_cache(maxsize=1 << 12)(linux.resilient)
_least_resilient = lru_cache(maxsize=1 << 12)(linux.least_resilient)


def _resilience(planned: WeightedHops, recipe: Recipe) -> Resilience | None:
    if recipe.unit != BUCKETS:
        return None
    return Resilience(recipe.used, round(planned.idle_timer_s * 100), round(planned.unbalanced_timer_s * 100))


def _nexthop_numbers(plan: LinuxPlan, observed: LinuxState) -> dict[Hop, int]:
    """Number of each hop of the plan, of one per version that drops too: as observed, else the next free."""
    numbers = {one.hop: number for number, one in observed.nexthops.items()}
    free = (number for number in count(first_number(plan.owner) + NEXTHOPS) if number not in observed.nexthops)
    hops = dict.fromkeys(hop for planned in plan.groups for hop in planned.hops)
    blackholes = dict.fromkeys(Hop(planned.prefixes[0].version, "") for planned in plan.groups)
    return {hop: numbers[hop] if hop in numbers else next(free) for hop in hops | blackholes}


def _observed_group(planned: WeightedHops, observed: LinuxState) -> NexthopGroup | None:
    """The group that its routes lead to now."""
    for prefix in planned.prefixes:
        route = observed.routes.get((prefix, planned.table, planned.metric))
        if route is not None and route.nexthop_id in observed.groups:
            return observed.groups[route.nexthop_id]
    return None


def _group_number(
    planned: WeightedHops,
    observed: LinuxState,
    resilience: Resilience | None,
    taken: Mapping[int, NexthopGroup],
    free: Iterator[int],
) -> int:
    """Number of the group that its routes lead to now, if the kernel can change it as desired; else the next free."""
    before = _observed_group(planned, observed)
    if before is not None and before.group_id not in taken:
        old = before.resilience
        if (old and old.buckets) == (resilience and resilience.buckets):
            return before.group_id
    return next(free)


def hash_notes(groups: Sequence[Installed]) -> list[str]:
    """Notes where the kernel hashes no ports, so that all connections between two hosts take one path."""
    notes = []
    for version in sorted({prefix.version for one in groups for prefix in one.planned.prefixes}):
        policy = hash_policy.read(version)
        if policy is None or policy.hashed & PORTS:
            continue
        apart = " but for their flow labels" if policy.hashed & FLOW_LABEL and version == 6 else ""
        notes.append(
            f"{policy.name}={policy.number}: ports are not hashed, all connections between two hosts take one path"
            f"{apart}; sysctl -w {policy.name}=1 hashes them"
        )
    return notes
