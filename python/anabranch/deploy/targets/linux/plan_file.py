"""A plan for a Linux kernel: which destinations go over which devices and gateways in which shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from anabranch.deploy.netlink.nexthop import MPATH, RESILIENT, Hop, Prefix
from anabranch.deploy.targets.linux.predict import BUCKET_COUNTS
from anabranch.deploy.targets.plan import group_keys
from anabranch.deploy.targets.plan.form import PlanForm, plan_settings
from anabranch.deploy.targets.plan.group_keys import groups_of, refuse_rivals
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import REQUIRED, Settings
from anabranch.files.toml_document import parse_toml

OWNERS = 256
GROUPS_MAX = 1 << 15
"""Numbers of an owner's groups; as many are left for its nexthops."""
AUTO = "auto"
MAIN_TABLE = 254
TABLE_MAX, METRIC_MAX = 2**32 - 1, 2**32 - 1
METRICS = {4: 0, 6: 1024}
"""The kernel's defaults; IPv6 takes 0 for 1024 (`ip6_route_info_create`)."""
IDLE_TIMER_S = 1.0
"""Far longer than paths of a datacenter differ in delay, so a bucket that rests so long moves without reordering.

The kernel's own is 120 s (`NH_RES_DEFAULT_IDLE_TIMER`): for servers behind a path, which know only their connections.
"""
UNBALANCED_TIMER_S = 10.0
"""A bucket that never rests has as many connections when it moves late as when it moves early."""
TIMER_MAX_S = 86400.0
RECIPES = (
    "`resilient`: a table of buckets; a change of weights moves only what it must. `mpath`: hash-threshold, no table; "
    "a change of weights moves up to twice what it must."
)


@dataclass(frozen=True)
class GroupKeys:
    """Keys of a group besides its destinations and paths."""

    recipe: str
    """`mpath`, `resilient`, or `auto`: resilient with as few buckets as stay below the error."""
    buckets: int | None
    idle_timer_s: float
    unbalanced_timer_s: float
    table: int
    metric: int


@dataclass(frozen=True)
class WeightedHops(GroupKeys):
    """One `[[group]]`."""

    name: str
    prefixes: tuple[Prefix, ...]
    """Destinations, all of one IP version."""
    hops: tuple[Hop, ...]
    weights: tuple[str, ...]
    error_pct: float
    error_given: bool


@dataclass(frozen=True)
class LinuxPlan:
    """A plan file for a kernel's routes as a value."""

    file: str
    owner: int
    groups: tuple[WeightedHops, ...]


def parse(text: str, file: str) -> LinuxPlan:
    """Reads and checks the text of a plan; raises as `PlanForm.read`."""
    return from_table(parse_toml(text, file), file)


def from_table(table: Mapping[str, Any], file: str) -> LinuxPlan:
    """A plan from its keys and values.

    Raises:
        AnabranchError: as `read`.

    """
    settings = plan_settings(table, file)
    owner = settings.integer(
        "owner", 0, 0, OWNERS - 1, "Mark of the routes, groups and nexthops that belong to this plan."
    )
    groups = groups_of(settings, _group, GROUPS_MAX)
    taken = ((group.name, prefix, (group.table, group.metric)) for group in groups for prefix in group.prefixes)
    refuse_rivals(file, taken, "give one of them another table or metric")
    return LinuxPlan(file, owner, groups)


def _group(settings: Settings) -> WeightedHops:
    name = group_keys.name_of(settings)
    prefixes = _prefixes(settings.table("match"))
    version = prefixes[0].version
    hops = _hops(settings, version)
    weights = group_keys.weights(settings, len(hops))
    recipe = settings.one_of("recipe", AUTO, (AUTO, RESILIENT, MPATH), f"`auto` and {RECIPES}")
    given = "error" in settings
    weighted = WeightedHops(
        name=name,
        prefixes=prefixes,
        hops=hops,
        weights=weights,
        error_given=given,
        error_pct=group_keys.error_pct(settings, "`auto` stays below it."),
        **vars(
            take_group_keys(
                settings,
                version,
                recipe,
                None,
                "`auto` keeps the number that is installed if it is still near enough, for another number is another "
                "group and moves connections.",
                "as few as stay below `error`",
            )
        ),
    )
    settings.end()
    return weighted


def take_group_keys(
    settings: Settings, version: int, recipe: str, buckets: int | None, more: str, otherwise: str = ""
) -> GroupKeys:
    """Takes the keys of a group besides its destinations, paths and recipe.

    Args:
        settings: the table.
        version: IP version of the destinations.
        recipe: how the group is made.
        buckets: number of buckets where none is given.
        more: what there is to say of that number.
        otherwise: the same of the default, if it is no number.

    Raises:
        AnabranchError: a key is not as it must be, or two contradict each other.

    """
    given = "buckets" in settings
    keys = GroupKeys(
        recipe=recipe,
        buckets=settings.take(
            "buckets",
            buckets,
            lambda item: item if item in BUCKET_COUNTS else None,
            "give a power of two from 32 to 32768",
            f"Buckets of `resilient`. {more}",
            otherwise=otherwise,
        ),
        idle_timer_s=settings.duration_s(
            "idle_timer",
            IDLE_TIMER_S,
            0.01,
            TIMER_MAX_S,
            "Silence after which a bucket of `resilient` may change its path.",
        ),
        unbalanced_timer_s=settings.duration_s(
            "unbalanced_timer",
            UNBALANCED_TIMER_S,
            0.0,
            TIMER_MAX_S,
            "Time of imbalance after which a bucket of `resilient` changes its path in any case; 0 means never.",
        ),
        table=settings.integer("table", MAIN_TABLE, 1, TABLE_MAX, "Routing table; 254 is `main`."),
        metric=settings.integer(
            "metric",
            METRICS[version],
            METRICS[version] and 1,
            METRIC_MAX,
            "Metric of the routes.",
            otherwise=f"`{METRICS[4]}`; IPv6: `{METRICS[6]}`",
        ),
    )
    if recipe == MPATH and given:
        settings.refuse("buckets", keys.buckets, 'mpath has none; leave it out, or take recipe = "resilient"')
    return keys


def _prefixes(settings: Settings) -> tuple[Prefix, ...]:
    """`match.ip_dst`: a kernel routes by destination."""
    hint = 'give destinations, as in match = { ip_dst = ["10.0.2.0/24"] }'
    # Plans for switches may have this key; a kernel resolves addresses by itself.
    meaning = "Without effect: the kernel resolves addresses by itself. It may stand there, so that a plan for a switch"
    settings.flag("arp", False, f"{meaning} is also one for a kernel.")
    destinations = group_keys.destinations(
        settings,
        f"a kernel's route matches destinations only; {hint}",
        "Destinations, all of one IP version.",
        REQUIRED,
    )
    if not destinations:
        raise AnabranchError(f"{settings.file}: {settings.path}.ip_dst: missing; {hint}")
    if len({prefix.version for prefix in destinations}) > 1:
        settings.refuse("ip_dst", "IPv4 beside IPv6", "write a group for each")
    return destinations


def _hops(settings: Settings, version: int) -> tuple[Hop, ...]:
    devices = group_keys.devices(settings, "Network device of each path.")
    meaning = 'Gateway of each path, `""` where the destination is on the link.'
    gateways = settings.texts("gateways", meaning, values="addresses, one per path", otherwise="none")
    if gateways and len(gateways) != len(devices):
        settings.refuse("gateways", gateways, f'give one per port, {len(devices)} of them, "" for none')
    hops = []
    for device, text in zip(devices, gateways or [""] * len(devices), strict=True):
        gateway = None
        if text:
            try:
                gateway = ip_address(text)
            except ValueError:
                settings.refuse("gateways", text, "not an address; write 10.0.1.2 or fd00:1::2")
            if version == 6 and gateway.version == 4:
                settings.refuse("gateways", text, "IPv6 has no gateways of IPv4; give one of IPv6")
        hops.append(Hop(version if gateway is None else gateway.version, device, gateway))
    if len(set(hops)) < len(hops):
        settings.refuse("ports", list(devices), "a path is there twice; name it once and add its weights up")
    return tuple(hops)


EXAMPLE = """\
owner = 0

[[group]]
name = "to-leaf2"
match = { ip_dst = ["10.2.0.0/16", "10.3.0.0/24"] }
ports = ["eth1", "eth2", "eth3"]
gateways = ["10.9.1.2", "10.9.2.2", ""]
weights = [4, 3, 2]
recipe = "resilient"
buckets = 256
idle_timer = "60 s"
"""
FORM = PlanForm("Linux", "nexthop groups and routes of a kernel; [how it works](deploy-linux.md)", EXAMPLE, parse)
