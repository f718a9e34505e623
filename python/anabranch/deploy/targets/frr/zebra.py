"""Routes of zebra and paths of bgpd, from their answers in JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from anabranch.deploy.netlink.nexthop import Prefix
from anabranch.files.errors import AnabranchError
from anabranch.files.terminal.visible import one_line

BANDWIDTH = re.compile(r"LB:\d+:(\d+)")
"""Link bandwidth in bytes per second, as bgpd writes an extended community."""


@dataclass(frozen=True)
class NextHop:
    """One next hop that zebra forwards by."""

    device: str
    gateway: str
    """Address, or empty where the destination is on the link."""
    weight: int
    is_recursive: bool
    """Whether it was found by another route."""
    vrf: str
    """VRF of the next hop, where it is not the route's own; else empty."""


@dataclass(frozen=True)
class ZebraRoute:
    """The route of a prefix that zebra has chosen."""

    prefix: Prefix
    protocol: str
    hops: tuple[NextHop, ...]

    @property
    def weights(self) -> dict[str, int]:
        """Weight by device; a single path weighs 1."""
        weights: Counter[str] = Counter()
        for hop in self.hops:
            weights[hop.device] += hop.weight if len(self.hops) > 1 else 1
        return dict(weights)


def routes(answer: Mapping[str, Any], where: str) -> list[ZebraRoute]:
    """The chosen routes of `show ip route json` or `show ipv6 route json`.

    Args:
        answer: of zebra.
        where: name of what it came from, for errors.

    Raises:
        AnabranchError: it is no such answer.

    """
    return [route for text, entries in answer.items() for route in _chosen(text, entries, where)]


def paths(answer: Mapping[str, Any], known: Mapping[Prefix, ZebraRoute]) -> dict[Prefix, dict[str, int]]:
    """Bandwidth in bytes per second by device of each prefix's best paths, 0 where a path has none.

    Args:
        answer: of bgpd to `show bgp ipv4 unicast json detail`.
        known: zebra's routes, which say by which device a next hop is reached.

    """
    by_prefix: dict[Prefix, dict[str, int]] = {}
    for text, entries in answer.get("routes", {}).items():
        prefix = ip_network(text)
        listed = entries.get("paths", []) if isinstance(entries, Mapping) else entries
        route = known.get(prefix)
        device = {hop.gateway: hop.device for hop in route.hops} if route is not None else {}
        best = [one for one in listed if one.get("multipath") or one.get("bestpath", {}).get("overall")]
        by_device: dict[str, int] = {}
        for one in best:
            if one.get("local"):
                continue
            match = BANDWIDTH.search(one.get("extendedCommunity", {}).get("string", ""))
            name = _device(one, device)
            by_device[name] = by_device.get(name, 0) + (int(match[1]) if match else 0)
        if by_device:
            by_prefix[prefix] = by_device
    return by_prefix


def _chosen(text: str, entries: Any, where: str) -> list[ZebraRoute]:
    """The routes of one prefix that zebra has chosen."""
    try:
        return [
            ZebraRoute(ip_network(text), str(entry["protocol"]), tuple(_hops(entry)))
            for entry in entries
            if entry.get("selected")
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        hint = "give what `show ip route json` says"
        raise AnabranchError(f"{where}: {one_line(text)}: not in the form of zebra's routes; {hint}") from None


def _hops(entry: Mapping[str, Any]) -> Iterator[NextHop]:
    recursive = False
    for hop in entry["nexthops"]:
        if hop.get("recursive"):
            recursive = True
            continue
        recursive = recursive and bool(hop.get("resolver"))
        if not hop.get("fib") or "interfaceName" not in hop:
            continue
        vrf = str(hop.get("vrf", entry.get("vrfName", "")))
        elsewhere = "" if vrf == str(entry.get("vrfName", vrf)) else vrf
        weight = max(1, int(hop.get("weight", 1)))
        yield NextHop(str(hop["interfaceName"]), str(hop.get("ip", "")), weight, recursive, elsewhere)


def _device(path: Mapping[str, Any], device: Mapping[str, str]) -> str:
    used = [str(hop.get("ip", "")) for hop in path.get("nexthops", []) if hop.get("used")]
    peer = path.get("peer", {})
    return str(peer.get("interface") or next((device[ip] for ip in used if ip in device), None) or ", ".join(used))
