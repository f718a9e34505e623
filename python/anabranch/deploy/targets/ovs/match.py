"""`match` of a plan's groups, and ports by name or number: which packets a group is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.deploy.openflow.match import FIELDS
from anabranch.deploy.targets.plan import group_keys
from anabranch.deploy.targets.plan.group_keys import Network, refuse_missing
from anabranch.files.settings import REQUIRED, TABLE_OR_TABLES, Settings

PORTS = ("tcp_src", "tcp_dst", "udp_src", "udp_dst", "sctp_src", "sctp_dst")
NUMBERS = {
    **dict.fromkeys(PORTS, "Transport port; ports of one table are of one protocol."),
    "ip_dscp": "DSCP of the packet.",
    "vlan_vid": "VLAN of the packet.",
}
"""Keys of `match` that are whole numbers, with their meanings."""
PORT_MAX = 0xFFFF_FF00
"""Largest port number of OpenFlow; the numbers above are reserved."""


@dataclass(frozen=True)
class Where:
    """Packets that a group is for: those that are all of this."""

    in_ports: tuple[str | int, ...] = ()
    """Any of these; all if none is named."""
    ip_src: tuple[Network, ...] = ()
    ip_dst: tuple[Network, ...] = ()
    """Any of these; all if none is named."""
    version: int | None = None
    """Version of IP; both if it is not said."""
    numbers: tuple[tuple[str, int], ...] = ()
    """Transport ports, DSCP, VLAN: name as in `openflow.match` and value."""
    arp: bool = False
    """Whether ARP for the addresses in `ip_dst` goes along."""


def read(settings: Settings) -> tuple[Where, ...]:
    """`match`: a table, or a list of them."""

    def check(given: object) -> list[object] | None:
        items = given if isinstance(given, list) else [given]
        return items if items and all(isinstance(item, Mapping) for item in items) else None

    hint = 'give what the packets are, as in match = { ip_dst = "10.0.2.0/24" }, or match = {} for all IP'
    given: list[object] = settings.take(
        "match",
        [],
        check,
        hint,
        "Packets of the group: those that any table of the list describes. `{}` is all IP. In a list of values any may "
        "be met; different keys must all be met.",
        otherwise=REQUIRED,
        values=TABLE_OR_TABLES,
    )
    if not given:
        refuse_missing(settings, "match", hint)
    return tuple(_one(Settings(settings.file, f"{settings.path}: match", item, "group.match")) for item in given)


def _one(settings: Settings) -> Where:
    destinations = group_keys.prefixes(settings, "ip_dst", "Destinations, IPv4 and IPv6; a rule for each.", "any")
    sources = group_keys.prefixes(settings, "ip_src", "Sources, IPv4 and IPv6; a rule for each.", "any")
    version = one_of(settings, "ip", (4, 6), "give 4 or 6", "Version of IP.", "that of the addresses, else both")
    numbers = []
    for key, meaning in NUMBERS.items():
        # A VLAN's number goes with the bit that says that there is one (OpenFlow 1.5.1 section 7.2.3.8).
        bits, present = (12, 1 << 12) if key == "vlan_vid" else (FIELDS[key].bits, 0)
        is_given = key in settings
        number = settings.integer(key, 0, 0, (1 << bits) - 1, meaning, otherwise="any")
        if is_given:
            numbers.append((key, number | present))
    transports = {key.partition("_")[0] for key, _ in numbers if key in PORTS}
    if len(transports) > 1:
        settings.refuse("", ", ".join(sorted(transports)), "no packet is both; write a match for each in a list")
    meaning = "Whether ARP questions for the IPv4 addresses in `ip_dst` go along. IPv6 asks by multicast: give that a"
    arp = settings.flag("arp", False, f"{meaning} rule of your own.")
    in_ports = ports_of(
        settings,
        "in_port",
        "Ports that packets enter by. A port that the group also sends to is refused, for a switch drops what would "
        "leave where it entered.",
        "any",
    )
    where = Where(in_ports, sources, destinations, version, tuple(numbers), arp)
    settings.end()
    if arp and not any(network.version == 4 for network in where.ip_dst):
        settings.refuse("arp", True, "no IPv4 address in ip_dst whose ARP could go along; give one")
    return where


def one_of(settings: Settings, key: str, numbers: Sequence[int], hint: str, meaning: str, otherwise: str) -> int | None:
    """One of some whole numbers; None where it is not said."""

    def check(given: object) -> int | None:
        return given if isinstance(given, int) and given in numbers else None

    return settings.take(key, None, check, hint, meaning, otherwise=otherwise)


def ports_of(settings: Settings, key: str, meaning: str, otherwise: str) -> tuple[str | int, ...]:
    """Names or numbers of ports; one alone counts as a list of it."""

    def check(given: Any) -> tuple[str | int, ...] | None:
        items = given if isinstance(given, list) else [given]
        good = all(
            (isinstance(item, str) and item)
            or (isinstance(item, int) and not isinstance(item, bool) and 0 < item <= PORT_MAX)
            for item in items
        )
        return tuple(items) if good else None

    hint = 'give names or numbers, as in ["uplink1", "uplink2"]'
    return settings.take(key, (), check, hint, meaning, otherwise=otherwise, values="names or numbers of ports")
