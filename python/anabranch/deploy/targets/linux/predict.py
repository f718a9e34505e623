"""Linux nexthop groups (`net/ipv4/nexthop.c`): hash-threshold (`mpath`) and resilient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anabranch import _core
from anabranch.deploy.targets.linux.headers import is_no_ip, is_portless
from anabranch.deploy.targets.plan.group import Group, exact, fitted, short, within
from anabranch.deploy.targets.plan.recipe import Forecast, Reading, Recipe, recipe
from anabranch.files.errors import AnabranchError
from anabranch.split.splitter import Splitter

WEIGHT_MAX = 65535
"""Largest weight of the kernel's netlink interface."""
TOOL_WEIGHT_MAX = 256
"""Largest weight of `ip` from iproute2 6.1, and of kernels whose weights have 8 bits."""
HASHES = 2**31
"""Values of the hash that hash-threshold divides (`fib_multipath_hash` without its lowest bit)."""
BUCKET_COUNTS = tuple(2**k for k in range(5, 16))
GROUP_ID = 10_000
"""Nexthops have the numbers of their paths, the group this one."""
READING = Reading(
    is_no_ip,
    "stacked VLAN tags or MPLS, which a kernel drops unless VLAN devices or label routes take them",
    is_portless,
    "fragments, hashed without ports, or authentication headers, hashed by their SPI",
    "a kernel's hash has a key of its own that it does not tell; `anabranch explain --plan` says what is hashed, and "
    "so which packets stay together",
)


def forecast(group: Group, bound_pct: float, strict: bool) -> Forecast:
    """All recipes; with `strict`, weights over the kernel's limit are an error instead of a refusal."""
    recipes: list[Recipe] = []
    refused: list[tuple[str, str]] = []
    try:
        weights = within(group, WEIGHT_MAX, "Linux")
    except AnabranchError as error:
        if strict:
            raise
        refused.append(("as written", str(error)))
        weights = fitted(group.integers, WEIGHT_MAX)[0]
    settings = [weights]
    if max(weights) > TOOL_WEIGHT_MAX:
        settings.insert(0, fitted(weights, TOOL_WEIGHT_MAX)[0])
    for setting in settings:
        recipes += [least_resilient(group, setting, bound_pct), threshold(group, setting)]
    # Weights that `ip` takes come first only if their error is within the bound.
    recipes.sort(key=lambda recipe: recipe.mape_pct > bound_pct)
    traps = [
        "fib_multipath_hash_policy=1 hashes ports too; the default 0 sends one host pair over one path",
        "a carrier loss deletes the nexthop and takes it out of the group; it does not come back by itself",
        "resilient: buckets with traffic stay where they are until idle_timer; unbalanced_timer forces them",
    ]
    if 0 in weights:
        traps.append("a weight of 0 cannot be given: the path is left out of the group")
    return Forecast("linux", f"Linux nexthop group {GROUP_ID}", recipes, refused, traps, READING)


def threshold(group: Group, weights: Sequence[int]) -> Recipe:
    """Hash-threshold: cumulative weights rounded over 2^31 hash values."""
    texts = [str(weight) for weight in weights]
    shares = np.array(_core.cumulative_slots(texts, list(group.up), HASHES)) / HASHES
    living = sum(weight > 0 for weight in weights)
    return recipe(
        group,
        f"mpath{_width(weights)}",
        f"weights {short(weights)}",
        (shares.tolist(), shares.tolist()),
        (living, None, "nexthops"),
        "all of the hash's 31 bits, but a change of weights moves up to twice what it must",
        _needs(weights),
        _lines(group, weights, "mpath"),
    )


def least_resilient(group: Group, weights: Sequence[int], bound_pct: float) -> Recipe:
    """Resilient, with the least power of two of buckets that stays below the bound, or the most there are."""
    for buckets in BUCKET_COUNTS:
        recipe = resilient(group, weights, buckets)
        if recipe.mape_pct < bound_pct:
            break
    return recipe


def resilient(group: Group, weights: Sequence[int], buckets: int) -> Recipe:
    """Resilient: cumulative weights rounded over the buckets."""
    splitter = Splitter("linux-resilient", weights, buckets=buckets)
    if group.degraded:
        splitter.update(up=group.up)
    shares = exact(splitter)
    return recipe(
        group,
        f"resilient-{buckets}{_width(weights)}",
        f"weights {short(weights)}",
        (shares, shares),
        (buckets, 65535, "buckets"),
        "a change of weights moves only what it must",
        ["Linux 5.12 or newer", *_needs(weights)],
        _lines(group, weights, f"resilient buckets {buckets}"),
    )


def _width(weights: Sequence[int]) -> str:
    """A suffix for recipes whose weights need 16 bits."""
    return "" if max(weights) <= TOOL_WEIGHT_MAX else "-16bit"


def _needs(weights: Sequence[int]) -> list[str]:
    if max(weights) <= TOOL_WEIGHT_MAX:
        return []
    return [f"a kernel with 16-bit weights and a tool that writes them: ip from iproute2 6.1 ends at {TOOL_WEIGHT_MAX}"]


def _lines(group: Group, weights: Sequence[int], kind: str) -> list[str]:
    """Shell commands that make the nexthops and the group."""
    members = [(path, weight) for path, weight in enumerate(weights, 1) if weight]
    listed = "/".join(f"{path},{weight}" for path, weight in members)
    return [
        "sysctl -w net.ipv4.fib_multipath_hash_policy=1 net.ipv6.fib_multipath_hash_policy=1",
        *(f"ip nexthop replace id {path} dev {group.port(path - 1, 'eth')}" for path, _ in members),
        f"ip nexthop replace id {GROUP_ID} group {listed} type {kind}",
    ]
