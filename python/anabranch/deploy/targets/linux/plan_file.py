"""A plan for a Linux kernel: which destinations go over which devices and gateways in which shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from anabranch.deploy.netlink.nexthop import MPATH, RESILIENT, Hop, Prefix
from anabranch.deploy.targets.linux.predict import BUCKET_COUNTS
from anabranch.deploy.targets.plan import group_keys
from anabranch.deploy.targets.plan.group_keys import groups_of, refuse_rivals
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.load import read_text

OWNERS = 256
AUTO = "auto"
MAIN_TABLE = 254
TABLE_MAX, METRIC_MAX = 2**32 - 1, 2**32 - 1
METRICS = {4: 0, 6: 1024}
"""The kernel's defaults; IPv6 takes 0 for 1024 (`ip6_route_info_create`)."""
IDLE_TIMER_S = 120.0
"""The kernel's own (`NH_RES_DEFAULT_IDLE_TIMER`)."""
TIMER_MAX_S = 86400.0


@dataclass(frozen=True)
class WeightedHops:
    """One `[[group]]`."""

    name: str
    prefixes: tuple[Prefix, ...]
    """Destinations, all of one IP version."""
    table: int
    metric: int
    hops: tuple[Hop, ...]
    weights: tuple[str, ...]
    recipe: str
    """`mpath`, `resilient`, or `auto`: resilient with as few buckets as stay below the error."""
    error_pct: float
    error_given: bool
    buckets: int | None
    idle_timer_s: float
    unbalanced_timer_s: float


@dataclass(frozen=True)
class LinuxPlan:
    """All of the file."""

    file: str
    owner: int
    groups: tuple[WeightedHops, ...]


def read(path: str | Path) -> LinuxPlan:
    """Reads and checks a plan.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; it names them, and a hint.

    """
    return parse(read_text(path), str(path))


def parse(text: str, file: str) -> LinuxPlan:
    """The same from its text.

    Raises:
        AnabranchError: as `read`.

    """
    table = parse_toml(text, file)
    return from_table(table, file)


def from_table(table: Mapping[str, Any], file: str) -> LinuxPlan:
    """The same from its keys and values.

    Raises:
        AnabranchError: as `read`.

    """
    settings = Settings(file, "", table)
    owner = settings.integer("owner", 0, 0, OWNERS - 1)
    groups = groups_of(settings, _group)
    taken = ((group.name, prefix, (group.table, group.metric)) for group in groups for prefix in group.prefixes)
    refuse_rivals(file, taken, "give one of them another table or metric")
    return LinuxPlan(file, owner, groups)


def _group(settings: Settings) -> WeightedHops:
    name = group_keys.name_of(settings)
    prefixes = _prefixes(settings.table("match"))
    version = prefixes[0].version
    hops = _hops(settings, version)
    recipe = settings.one_of("recipe", AUTO, (AUTO, RESILIENT, MPATH))
    found = WeightedHops(
        name=name,
        prefixes=prefixes,
        table=settings.integer("table", MAIN_TABLE, 1, TABLE_MAX),
        metric=settings.integer("metric", METRICS[version], METRICS[version] and 1, METRIC_MAX),
        hops=hops,
        weights=group_keys.weights(settings, len(hops)),
        recipe=recipe,
        error_given="error" in settings,
        error_pct=group_keys.error_pct(settings),
        buckets=settings.take(
            "buckets",
            None,
            lambda item: item if item in BUCKET_COUNTS else None,
            "give a power of two from 32 to 32768",
        ),
        idle_timer_s=settings.duration_s("idle_timer", IDLE_TIMER_S, 0.01, TIMER_MAX_S),
        unbalanced_timer_s=settings.duration_s("unbalanced_timer", 0.0, 0.0, TIMER_MAX_S),
    )
    settings.end()
    if recipe == MPATH and found.buckets is not None:
        settings.refuse("buckets", found.buckets, 'mpath has none; leave it out, or take recipe = "resilient"')
    return found


def _prefixes(settings: Settings) -> tuple[Prefix, ...]:
    """`match.ip_dst`: a kernel routes by destination."""
    hint = 'give destinations, as in match = { ip_dst = ["10.0.2.0/24"] }'
    # Plans for switches may have this key; a kernel resolves addresses by itself.
    settings.take("arp", False, lambda item: item if isinstance(item, bool) else None, "give true or false")
    found = group_keys.destinations(settings, f"a kernel's route matches destinations only; {hint}")
    if not found:
        raise AnabranchError(f"{settings.file}: {settings.path}.ip_dst: missing; {hint}")
    if len({prefix.version for prefix in found}) > 1:
        settings.refuse("ip_dst", "IPv4 beside IPv6", "write a group for each")
    return found


def _hops(settings: Settings, version: int) -> tuple[Hop, ...]:
    devices, gateways = group_keys.devices(settings), settings.texts("gateways")
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
