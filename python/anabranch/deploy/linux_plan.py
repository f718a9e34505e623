"""A plan for a Linux kernel: which destinations go over which devices and gateways in which shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from anabranch import AnabranchError
from anabranch.netlink.nexthop import MPATH, RESILIENT, Prefix, Way
from anabranch.runs.load import read_text
from anabranch.settings import Settings, parse_toml
from anabranch.split.request import weights_of
from anabranch.targets.linux import BUCKET_COUNTS
from anabranch.targets.plan import BOUND_PCT, parse_bound

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
class WeightedWays:
    """One `[[group]]`."""

    name: str
    prefixes: tuple[Prefix, ...]
    """Destinations, all of one IP version."""
    table: int
    metric: int
    ways: tuple[Way, ...]
    weights: tuple[str, ...]
    recipe: str
    """`mpath`, `resilient`, or `auto`: resilient with as few buckets as stay below the error."""
    error_pct: float
    buckets: int | None
    idle_timer_s: float
    unbalanced_timer_s: float


@dataclass(frozen=True)
class LinuxPlan:
    """All of the file."""

    file: str
    owner: int
    groups: tuple[WeightedWays, ...]


def read(path: str | Path) -> LinuxPlan:
    """Reads and checks a plan.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; it names them, and the mend.

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
    given: list[Any] = settings.take(
        "group", [], lambda item: item if isinstance(item, list) else None, "write each as [[group]]"
    )
    settings.end()
    if not given:
        raise AnabranchError(f"{file}: group: missing; write one as [[group]] with name, match, ports and weights")
    groups: list[WeightedWays] = []
    taken: dict[tuple[Prefix, int, int], str] = {}
    for place, item in enumerate(given, 1):
        name = item.get("name") if isinstance(item, Mapping) else None
        group = _group(Settings(file, f"group {name if isinstance(name, str) and name else place}", item))
        if any(group.name == other.name for other in groups):
            raise AnabranchError(f"{file}: group {group.name}: name: there twice; each group has its own")
        for prefix in group.prefixes:
            other_name = taken.setdefault((prefix, group.table, group.metric), group.name)
            if other_name != group.name:
                problem = f"group {other_name} has it too; give one of them another table or metric"
                raise AnabranchError(f"{file}: group {group.name}: match.ip_dst: {prefix}: {problem}")
        groups.append(group)
    return LinuxPlan(file, owner, tuple(groups))


def _group(settings: Settings) -> WeightedWays:
    name = settings.text("name")
    if not name:
        raise AnabranchError(f'{settings.file}: {settings.path}: name: missing; give one, as in name = "to-leaf2"')
    prefixes = _prefixes(settings.table("match"))
    version = prefixes[0].version
    ways = _ways(settings, version)
    recipe = settings.one_of("recipe", AUTO, (AUTO, RESILIENT, MPATH))
    found = WeightedWays(
        name=name,
        prefixes=prefixes,
        table=settings.integer("table", MAIN_TABLE, 1, TABLE_MAX),
        metric=settings.integer("metric", METRICS[version], METRICS[version] and 1, METRIC_MAX),
        ways=ways,
        weights=_weights(settings, len(ways)),
        recipe=recipe,
        error_pct=settings.take("error", BOUND_PCT, _percent, 'give a percentage above 0, such as "1%"'),
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
    mend = 'give destinations, as in match = { ip_dst = ["10.0.2.0/24"] }'
    found = [_prefix(settings, text) for text in settings.texts("ip_dst")]
    if others := settings.keys():
        settings.refuse(others[0], "given", f"a kernel's route matches destinations only; {mend}")
    if not found:
        raise AnabranchError(f"{settings.file}: {settings.path}.ip_dst: missing; {mend}")
    if len({prefix.version for prefix in found}) > 1:
        settings.refuse("ip_dst", "IPv4 beside IPv6", "write a group for each")
    if len(set(found)) < len(found):
        settings.refuse("ip_dst", ", ".join(map(str, found)), "one is there twice; leave it out")
    return tuple(found)


def _prefix(settings: Settings, text: str) -> Prefix:
    try:
        return ip_network(text)
    except ValueError as error:
        settings.refuse("ip_dst", text, f"{error}; write 10.0.2.0/24 or fd00:2::/64")


def _ways(settings: Settings, version: int) -> tuple[Way, ...]:
    devices, gateways = settings.texts("ports"), settings.texts("gateways")
    if not devices:
        mend = 'give the device of each path, as in ports = ["eth1", "eth2"]'
        raise AnabranchError(f"{settings.file}: {settings.path}: ports: missing; {mend}")
    if gateways and len(gateways) != len(devices):
        settings.refuse("gateways", gateways, f'give one per port, {len(devices)} of them, "" for none')
    ways = []
    for device, text in zip(devices, gateways or [""] * len(devices), strict=True):
        gateway = None
        if text:
            try:
                gateway = ip_address(text)
            except ValueError:
                settings.refuse("gateways", text, "not an address; write 10.0.1.2 or fd00:1::2")
            if version == 6 and gateway.version == 4:
                settings.refuse("gateways", text, "IPv6 has no gateways of IPv4; give one of IPv6")
        ways.append(Way(version if gateway is None else gateway.version, device, gateway))
    if len(set(ways)) < len(ways):
        settings.refuse("ports", devices, "a path is there twice; name it once and add its weights up")
    return tuple(ways)


def _weights(settings: Settings, paths: int) -> tuple[str, ...]:
    def check(given: object) -> tuple[str, ...] | None:
        texts = weights_of(given, f"{settings.file}: {settings.path}: ") if isinstance(given, list) else ()
        return texts if len(texts) == paths else None

    return settings.take("weights", ("1",) * paths, check, f"give one per port, {paths} of them, as in [4, 3, 2]")


def _percent(given: object) -> float | None:
    try:
        return parse_bound(given) if isinstance(given, str) else None
    except AnabranchError:
        return None
