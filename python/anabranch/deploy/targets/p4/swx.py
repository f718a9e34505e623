"""Entries as DPDK's SWX pipeline reads them, one file per table."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network

from anabranch.deploy.targets.p4.switches import Entry

TABLES = ("turns", "pairs", "sources", "destinations", "hosts")
"""In the order in which they are filled."""


def table(name: str, entries: Sequence[Entry]) -> str:
    """Lines of one table; the longest prefix has priority 0, which is the highest."""
    return "".join(_line(entry) for entry in entries if entry.table == name)


def _line(entry: Entry) -> str:
    parameters = "".join(f" {name} {value:#x}" for name, value in entry.parameters)
    return f"match {' '.join(map(_key, entry.match))} action {entry.action}{parameters}\n"


def _key(field: tuple[str, int | IPv4Network]) -> str:
    _, value = field
    if isinstance(value, int):
        return f"{value:#x}"
    address, mask = int(value.network_address), int(value.netmask)
    return f"{address:#x}/{mask:#x} priority {value.max_prefixlen - value.prefixlen}"
