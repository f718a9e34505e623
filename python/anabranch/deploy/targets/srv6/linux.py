"""Explicit paths for Linux: commands of `ip -6 -batch` for each node of a fabric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from anabranch.deploy.control.topology import End
from anabranch.deploy.targets.srv6.addresses import BLOCK, Addresses, ends_of, leaf_of
from anabranch.deploy.targets.srv6.segments import SegmentPath
from anabranch.files.errors import AnabranchError

DEVICE_MAX = 15
"""Characters of an interface's name (IFNAMSIZ - 1)."""
WEIGHT_MAX = 256
"""Largest weight of a next hop that iproute2 takes."""
TABLES = 1000
"""Table of a host for the paths with mark n: this and n more."""
NEXT_SEGMENT = "flavors next-csid lblen 32 nflen 16"


def switch_commands(switch: str, addresses: Addresses) -> list[str]:
    """Commands for a switch: its own segment, those of its neighbours, and at a leaf its hosts."""
    topology = addresses.topology
    ends = ends_of(topology, switch)
    lines = ["# sysctl net.ipv6.conf.all.forwarding=1"]
    for end in ends:
        lines += _link(addresses, end)
    device = _device(addresses, ends[0])
    own = addresses.locator(switch)
    lines.append(f"route replace {own} encap seg6local action End {NEXT_SEGMENT} dev {device}")
    if any(topology.is_host(end.neighbour) for end in ends):
        prefix = addresses.decapsulation(switch)
        lines.append(f"route replace {prefix} encap seg6local action End.DT6 table 254 dev {device}")
    neighbours: dict[str, str] = {}
    for end in ends:
        # Of parallel links the first; no path takes any.
        target = addresses.host(end.neighbour) if topology.is_host(end.neighbour) else addresses.locator(end.neighbour)
        via = f"route replace {target} via {addresses.across(end)} dev {_device(addresses, end)}"
        neighbours.setdefault(end.neighbour, via)
    return lines + list(neighbours.values())


def host_commands(host: str, addresses: Addresses, paths: Mapping[tuple[str, str], Sequence[SegmentPath]]) -> list[str]:
    """Commands for a host: flows spread over the paths to each leaf by weight, and packets with mark n take path n.

    Raises:
        AnabranchError: weights that next hops cannot have.

    """
    topology = addresses.topology
    (end,) = ends_of(topology, host)
    leaf = leaf_of(topology, host)
    to_leaf = f"via {addresses.across(end)} dev {_device(addresses, end)}"
    lines = [
        "# sysctl net.ipv6.fib_multipath_hash_policy=1",
        *_link(addresses, end),
        f"addr replace {addresses.host(host)}/128 dev {_device(addresses, end)} nodad",
        f"route replace {addresses.behind(leaf)} {to_leaf}",
        f"route replace {BLOCK} {to_leaf}",
        f"sr tunsrc set {addresses.host(host)}",
    ]
    marks: set[int] = set()
    for _, prefix, listed in towards(host, addresses, paths):
        for path in listed:
            marks.add(path.mark)
            lines.append(f"route replace {prefix} table {TABLES + path.mark} {_hop(path, to_leaf)}")
    rules = [f"rule add fwmark {mark} lookup {TABLES + mark}" for mark in sorted(marks)]
    return [*lines, *spread_commands(host, addresses, paths), *rules]


def spread_commands(
    host: str, addresses: Addresses, paths: Mapping[tuple[str, str], Sequence[SegmentPath]]
) -> list[str]:
    """Commands by which a host spreads its flows over these paths alone, as when probes have found others dead.

    Raises:
        AnabranchError: weights that next hops cannot have.

    """
    (end,) = ends_of(addresses.topology, host)
    to_leaf = f"via {addresses.across(end)} dev {_device(addresses, end)}"
    lines = []
    for destination, prefix, listed in towards(host, addresses, paths):
        hops = [_hop(path, to_leaf) for path in listed]
        if len(hops) > 1:
            weighted = zip(hops, _weights(host, destination, listed), strict=True)
            hops = [f"nexthop {hop} weight {weight}" for hop, weight in weighted]
        lines.append(f"route replace {prefix} {' '.join(hops)}")
    return lines


def _hop(path: SegmentPath, to_leaf: str) -> str:
    return f"encap seg6 mode encap.red segs {path.segments} {to_leaf}"


def towards(
    host: str, addresses: Addresses, paths: Mapping[tuple[str, str], Sequence[SegmentPath]]
) -> list[tuple[str, str, Sequence[SegmentPath]]]:
    """Other leaves with the prefix of their hosts, and hosts with paths of their own, each with these paths."""
    leaf = leaf_of(addresses.topology, host)
    leaves = [(other, paths.get((leaf, other))) for other in addresses.topology.leaf_index]
    return [
        *((other, str(addresses.behind(other)), listed) for other, listed in leaves if listed),
        *((to, f"{addresses.host(to)}/128", listed) for (source, to), listed in paths.items() if source == host),
    ]


def _link(addresses: Addresses, end: End) -> list[str]:
    device = _device(addresses, end)
    return [f"link set dev {device} up", f"addr replace {addresses.on_link(end)}/126 dev {device} nodad"]


def _device(addresses: Addresses, end: End) -> str:
    device = addresses.device(end)
    if len(device) > DEVICE_MAX or "/" in device or " " in device:
        problem = f"no name of an interface; give one of at most {DEVICE_MAX} characters, [switch.{end.node}] ports"
        raise AnabranchError(f"fabric: {device}: {problem}")
    return device


def _weights(host: str, destination: str, listed: Sequence[SegmentPath]) -> list[int]:
    divisor = gcd(*(path.weight for path in listed))
    weights = [path.weight // divisor for path in listed]
    if max(weights) > WEIGHT_MAX:
        raise AnabranchError(
            f"weight: {host} to {destination}: {max(weights)} in lowest terms, and next hops of Linux weigh at most "
            f"{WEIGHT_MAX}; give smaller weights"
        )
    return weights
