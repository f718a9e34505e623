"""`plan.toml`: which packets go over which ports in which shares, and in which switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from anabranch.deploy.openflow.match import FIELDS
from anabranch.deploy.targets.ovs.ownership import OWNERS, TABLES, Ownership
from anabranch.deploy.targets.ovs.recipes import SLOT_COUNTS
from anabranch.deploy.targets.ovs.split import RECIPES, SEED_MAX
from anabranch.deploy.targets.plan import group_keys
from anabranch.deploy.targets.plan.group_keys import Network, groups_of, refuse_missing
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.load import read_text

AUTO = "auto"
OWNER = 1
"""The controller's is 0 unless told otherwise; a plan under the same one would take its rules for leftovers."""
PRIORITY = 1000
PRIORITY_MAX = 65535 - 128
"""Rules for longer prefixes come first: the length of the destination's is added."""
PORTS = ("tcp_src", "tcp_dst", "udp_src", "udp_dst", "sctp_src", "sctp_dst")
PREFIXES = ("ip_src", "ip_dst")
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


@dataclass(frozen=True)
class WeightedPorts:
    """One `[[group]]`."""

    name: str
    where: tuple[Where, ...]
    """Packets that any of these describes."""
    ports: tuple[str | int, ...]
    """Names or OpenFlow numbers of paths, which count from 1 in this order; a bucket id is one less."""
    weights: tuple[str, ...]
    recipe: str
    """One of `split.RECIPES`, or `auto`."""
    error_pct: float
    """Error that `auto` must stay below."""
    error_given: bool
    """Whether the plan says so: then every recipe must."""
    seed: int | None
    slot_count: int | None
    """Slots of `multipath`; the fewest that stay below the error if it is not said."""
    priority: int


@dataclass(frozen=True)
class PlanFile:
    """All of the file."""

    file: str
    ownership: Ownership
    bridge: str
    openflow: str
    ovsdb: str
    """Addresses as Open vSwitch writes them; empty where the file has none."""
    groups: tuple[WeightedPorts, ...]

    def port_names(self, group: WeightedPorts) -> list[str]:
        """Names of all the ports that a group names."""
        ports = [*group.ports, *(port for where in group.where for port in where.in_ports)]
        return [port for port in ports if isinstance(port, str)]

    def refuse(self, group: WeightedPorts, key: str, problem: str) -> NoReturn:
        """Says what is wrong with a group's key once the switch is known."""
        raise AnabranchError(f"{self.file}: group {group.name}: {key}: {problem}")


def read(path: str | Path) -> PlanFile:
    """Reads and checks a plan.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; it names them, and a hint.

    """
    return parse(read_text(path), str(path))


def parse(text: str, file: str) -> PlanFile:
    """The same from its text.

    Raises:
        AnabranchError: as `read`.

    """
    table = parse_toml(text, file)
    settings = Settings(file, "", table)
    owner = settings.integer("owner", OWNER, 0, OWNERS - 1)
    first = settings.integer("table", 0, 0, TABLES - 1)
    seed = group_keys.seed(settings, None, SEED_MAX)
    priority = settings.integer("priority", PRIORITY, 1, PRIORITY_MAX)
    switch = settings.table("switch")
    bridge, openflow, ovsdb = (switch.text(key) for key in ("bridge", "openflow", "ovsdb"))
    switch.end()
    groups = groups_of(settings, lambda table: _group(table, seed, priority))
    try:
        ownership = Ownership(owner, first)
    except AnabranchError as error:
        raise AnabranchError(f"{file}: {error}") from None
    return PlanFile(file, ownership, bridge, openflow, ovsdb, groups)


def _group(settings: Settings, seed: int | None, priority: int) -> WeightedPorts:
    name = group_keys.name_of(settings)
    recipe = settings.one_of("recipe", AUTO, (AUTO, *RECIPES))
    ports = _ports(settings, "ports")
    if not ports:
        refuse_missing(settings, "ports", 'give one per path, as in ports = ["uplink1", "uplink2"]')
    if len(set(ports)) < len(ports):
        settings.refuse("ports", list(ports), "one is there twice; name it once and add its weights up")
    found = WeightedPorts(
        name=name,
        where=_where(settings),
        ports=ports,
        weights=_weights(settings, recipe, len(ports)),
        recipe=recipe,
        error_given="error" in settings,
        error_pct=group_keys.error_pct(settings),
        seed=group_keys.seed(settings, seed, SEED_MAX),
        slot_count=_one_of(settings, "slots", SLOT_COUNTS, "give a power of two from 256 to 65536"),
        priority=settings.integer("priority", priority, 1, PRIORITY_MAX),
    )
    settings.end()
    return found


def _weights(settings: Settings, recipe: str, paths: int) -> tuple[str, ...]:
    if recipe == "failover" and "weights" in settings:
        settings.refuse("weights", "given", "failover takes ports in order of preference; leave the weights out")
    return group_keys.weights(settings, paths)


def _one_of(settings: Settings, key: str, numbers: Sequence[int], hint: str) -> int | None:
    """One of some whole numbers; None where it is not said."""
    return settings.take(key, None, lambda item: item if isinstance(item, int) and item in numbers else None, hint)


def _ports(settings: Settings, key: str) -> tuple[str | int, ...]:
    """Names or numbers of ports; one alone counts as a list of it."""

    def check(given: Any) -> tuple[str | int, ...] | None:
        items = given if isinstance(given, list) else [given]
        good = all(
            (isinstance(item, str) and item)
            or (isinstance(item, int) and not isinstance(item, bool) and 0 < item <= PORT_MAX)
            for item in items
        )
        return tuple(items) if good else None

    return settings.take(key, (), check, 'give names or numbers, as in ["uplink1", "uplink2"]')


def _where(settings: Settings) -> tuple[Where, ...]:
    """`match`: a table, or a list of them."""

    def check(given: object) -> list[object] | None:
        items = given if isinstance(given, list) else [given]
        return items if items and all(isinstance(item, Mapping) for item in items) else None

    hint = 'give what the packets are, as in match = { ip_dst = "10.0.2.0/24" }, or match = {} for all IP'
    given: list[object] = settings.take("match", [], check, hint)
    if not given:
        refuse_missing(settings, "match", hint)
    return tuple(_one(Settings(settings.file, f"{settings.path}: match", item)) for item in given)


def _one(settings: Settings) -> Where:
    prefixes = {key: group_keys.prefixes(settings, key) for key in PREFIXES}
    version = _one_of(settings, "ip", (4, 6), "give 4 or 6")
    numbers = []
    for key in (*PORTS, "ip_dscp", "vlan_vid"):
        # A VLAN's number goes with the bit that says that there is one (OpenFlow 1.5.1 section 7.2.3.8).
        bits, present = (12, 1 << 12) if key == "vlan_vid" else (FIELDS[key].bits, 0)
        if key in settings:
            numbers.append((key, settings.integer(key, 0, 0, (1 << bits) - 1) | present))
    transports = {key.partition("_")[0] for key, _ in numbers if key in PORTS}
    if len(transports) > 1:
        settings.refuse("", ", ".join(sorted(transports)), "no packet is both; write a match for each in a list")
    arp = settings.take("arp", False, lambda item: item if isinstance(item, bool) else None, "give true or false")
    found = Where(_ports(settings, "in_port"), prefixes["ip_src"], prefixes["ip_dst"], version, tuple(numbers), arp)
    settings.end()
    if arp and not any(network.version == 4 for network in found.ip_dst):
        settings.refuse("arp", True, "no IPv4 address in ip_dst whose ARP could go along; give one")
    return found
