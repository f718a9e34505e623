"""A plan for a Linux kernel from zebra's routes: destinations with the weights that BGP gave them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.deploy.netlink.nexthop import Prefix
from anabranch.deploy.targets.frr.zebra import NextHop, ZebraRoute, routes
from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.units import count
from anabranch.simulate.runs.literal import literal
from anabranch.simulate.runs.load import read_text

PLAN = "plan.toml"
PROTOCOL = "bgp"


@dataclass(frozen=True)
class ImportedPlan:
    """A plan that was written."""

    file: Path
    groups: int
    destinations: int
    warnings: Sequence[str]
    """What was not taken over."""

    @property
    def record(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "plan": str(self.file),
            "groups": self.groups,
            "destinations": self.destinations,
            "warnings": list(self.warnings),
        }

    @property
    def facts(self) -> str:
        """What it is, in a few words."""
        return f"{_counted(self.groups, 'group')}, {_counted(self.destinations, 'destination')}"

    @property
    def next_command(self) -> str:
        """The command that one would give next."""
        return f"anabranch diff {self.file} --target linux"


def reads(path: Path) -> bool:
    """Whether a file has zebra's routes in JSON."""
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    first = next(iter(answer.values()), None) if isinstance(answer, dict) else None
    return isinstance(first, list) and bool(first) and isinstance(first[0], dict) and "nexthops" in first[0]


def write(path: Path, folder: Path) -> ImportedPlan:
    """Writes a plan of all routes of BGP that have several paths into a new folder.

    Args:
        path: file with what `show ip route json` or `show ipv6 route json` says.
        folder: to write.

    Raises:
        AnabranchError: the folder exists, or the file has no such route.

    """
    if folder.exists():
        raise AnabranchError(f"{folder}: exists; give a new folder by --into")
    listed = routes(json.loads(read_text(path)), str(path))
    split = [route for route in listed if route.protocol == PROTOCOL and len(route.hops) > 1]
    if not split:
        raise AnabranchError(
            f"{path}: no route of bgp with several paths among {count(len(listed))}; give what `vtysh -c 'show ip "
            "route json'` says where BGP has several"
        )
    by_split: dict[tuple[int, tuple[NextHop, ...]], list[Prefix]] = {}
    for route in split:
        by_split.setdefault((route.prefix.version, route.hops), []).append(route.prefix)
    text = "".join(f"{line}\n" for line in _lines(path, by_split))
    with written_whole(folder) as part:
        (part / PLAN).write_text(text, encoding="utf-8")
    return ImportedPlan(folder / PLAN, len(by_split), len(split), list(_warnings(path, listed, split)))


def _lines(path: Path, by_split: dict[tuple[int, tuple[NextHop, ...]], list[Prefix]]) -> Iterator[str]:
    yield f"# Routes of {path.name} with the weights that BGP gave them: `anabranch apply {PLAN} --target linux`."
    for (_, hops), prefixes in by_split.items():
        yield from ("", "[[group]]", f"name = {literal(f'to {prefixes[0]}')}")
        yield f"match = {{ ip_dst = {literal(list(map(str, prefixes)))} }}"
        yield f"ports = {literal([hop.device for hop in hops])}"
        yield f"gateways = {literal([hop.gateway for hop in hops])}"
        yield f"weights = {literal([hop.weight for hop in hops])}"


def _warnings(path: Path, listed: Sequence[ZebraRoute], split: Sequence[ZebraRoute]) -> Iterator[str]:
    if single := sum(route.protocol == PROTOCOL for route in listed) - len(split):
        yield f"{path}: {_counted(single, 'route')} of bgp with one path, and no weights: not taken over"
    if others := sum(route.protocol != PROTOCOL for route in listed):
        yield f"{path}: {_counted(others, 'route')} of other protocols: not taken over"
    for route in split:
        if any(hop.vrf for hop in route.hops):
            yield f"{path}: {route.prefix}: a next hop is in another VRF, which a plan does not say"


def _counted(number: int, noun: str) -> str:
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"
