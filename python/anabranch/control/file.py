"""`fabric.toml`: the fabric as built, where its switches are, which addresses lie where, and how to plan."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.control import policy
from anabranch.control.topology import End, Topology
from anabranch.errors import AnabranchError
from anabranch.hints import nearest
from anabranch.openflow.tls import Tls
from anabranch.runs.load import read_text
from anabranch.settings import Settings
from anabranch.targets.ebpf.switch import FORBIDDEN
from anabranch.targets.ovs import split
from anabranch.targets.ovs.ownership import Ownership
from anabranch.toml_document import parse_toml

RECIPES = tuple(name for name in split.RECIPES if name != "failover")
"""Recipes that split by weights."""
PAGES, NO_PAGES = "127.0.0.1:9653", "off"
DATAPATH_IDS = 1 << 64
OPENFLOW, EBPF = "openflow", "ebpf"
PAUSE_S = {"flowlet": 500e-6, "flow_cycle": 0.1}
"""Defaults: LetFlow's gap at 10 Gbit/s (NSDI 2017); the silence after which a flow's turn is forgotten."""
PORT_NAME_MAX = 15
"""Characters that OpenFlow keeps of a port's name (`OFP_MAX_PORT_NAME_LEN`, with its NUL)."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class KernelFile:
    """Keys of a switch that is a datapath in this machine's kernel."""

    scheme: str
    """One of `_core.KERNEL_SCHEMES`."""
    pause_ns: int
    """The scheme's gap or pause."""
    namespace: str
    """The network namespace of its ports, as `ip netns` or a file names it; empty for the controller's own."""
    plain: bool = False
    """Weights are the factors of scores themselves; no file says so, a scenario may."""


@dataclass(frozen=True)
class SwitchFile:
    """Address of one switch, and the names of its ports there."""

    name: str
    openflow: str
    """`unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`; empty if it comes to us."""
    ovsdb: str
    """The same of its database; empty if there is none to ask."""
    datapath_id: int | None
    interfaces: Mapping[End, str]
    """The name of each port."""
    kernel: KernelFile | None = None
    """None: a switch that speaks OpenFlow."""


@dataclass(frozen=True)
class Damping:
    """When a link that goes up and down is left down; see `damping`."""

    suppress: float
    """Penalty from which it is; every loss adds 1."""
    reuse: float
    """Penalty below which it is used again."""
    half_life_s: float


@dataclass(frozen=True)
class FabricFile:
    """All of the file."""

    file: str
    text: str
    topology: Topology
    weights: str
    """The policy's name."""
    recipe: str
    owner: int
    options: Mapping[str, Any]
    """Keys of the policy, from `[policy.NAME]`."""
    openflow: str
    """Address at which switches may connect; empty for none."""
    http: str
    """`HOST:PORT` of the pages; empty for none."""
    tls: Tls | None
    interval_s: float
    """Between two readings of counters."""
    audit_s: float
    """Between two readings of a switch's tables while nothing changes."""
    damping: Damping | None
    switches: Mapping[str, SwitchFile]
    prefixes: Mapping[str, Sequence[Network]]
    """Prefixes behind each leaf."""
    addresses: Mapping[str, Sequence[Network]]
    """Addresses of each host, as prefixes of full length."""

    @property
    def ownership(self) -> Ownership:
        """Ownership of parts of every switch."""
        return Ownership(self.owner)

    def policy_settings(self) -> Settings:
        """The policy's own table, for it to read."""
        return Settings(self.file, f"policy.{self.weights}", self.options)


def read(path: str | Path) -> FabricFile:
    """Reads and checks the file.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; it names them, and the mend.

    """
    return parse(read_text(path), str(path))


def parse(text: str, file: str) -> FabricFile:
    """The same from its text.

    Raises:
        AnabranchError: as `read`.

    """
    table = parse_toml(text, file)
    topology = Topology(_core.Fabric(text, file))
    settings = Settings(file, "", table)
    settings.take("fabric", None, lambda given: given, "")
    planning, listen = settings.table("policy"), settings.table("listen")
    weights = planning.one_of("weights", "capacity", policy.names())
    options: dict[str, Any] = planning.take(
        weights, {}, lambda given: given if isinstance(given, dict) else None, "write a table"
    )
    measure = settings.table("measure")
    found = FabricFile(
        file=file,
        text=text,
        topology=topology,
        weights=weights,
        recipe=planning.one_of("recipe", "hash-gravity", RECIPES),
        owner=planning.integer("owner", 0, 0, 255),
        options=options,
        openflow=_address(listen, "openflow", ("unix", "tcp", "ssl")),
        http=_pages(listen),
        tls=_tls(settings.table("tls")),
        interval_s=measure.duration_s("interval", 1.0, 0.01, 3600),
        audit_s=measure.duration_s("audit", 30.0, 0.1, 86400),
        damping=_damping(settings.table("damping")),
        switches=_switches(settings.table("switch"), topology),
        prefixes=_prefixes(settings.table("leaf"), topology),
        addresses=_addresses(settings.table("host"), topology),
    )
    for part in (planning, listen, measure, settings):
        part.end()
    _check(found)
    policy.build(weights, found)
    return found


def _check(found: FabricFile) -> None:
    """Checks what no key says by itself."""
    file = found.file
    for name in found.topology.switches:
        if name not in found.switches:
            raise AnabranchError(f"{file}: switch.{name}: missing; give its table, as in [switch.{name}]")
    for name, switch in found.switches.items():
        if switch.kernel is not None:
            continue
        if not switch.openflow and not found.openflow:
            mend = 'give where it is reached, as in openflow = "tcp:10.0.0.1:6653", or let it come to listen.openflow'
            raise AnabranchError(f"{file}: switch.{name}.openflow: missing; {mend}")
        if not switch.openflow and switch.datapath_id is None:
            mend = "give it as ovs-vsctl get bridge NAME datapath_id prints it"
            raise AnabranchError(f"{file}: switch.{name}.datapath_id: missing, and the switch comes to us; {mend}")
    identities: dict[object, str] = {}
    for name, switch in found.switches.items():
        for key, value in (("openflow", switch.openflow or None), ("datapath_id", switch.datapath_id)):
            other = identities.setdefault((key, value), name) if value is not None else name
            if other != name:
                raise AnabranchError(f"{file}: switch.{name}.{key}: {value}: {other} has it; each has its own")
    needs_tls = [found.openflow, *(switch.openflow for switch in found.switches.values())]
    needs_tls += [switch.ovsdb for switch in found.switches.values()]
    for address in needs_tls:
        if address.startswith("ssl:") and found.tls is None:
            raise AnabranchError(f"{file}: tls: missing, and {address} needs it; give key, certificate and authority")
    _check_overlaps(found)


def _check_overlaps(found: FabricFile) -> None:
    """One prefix is behind one leaf, one address is one host's."""
    for kind, key, table in (("leaf", "prefixes", found.prefixes), ("host", "addresses", found.addresses)):
        owner: dict[Network, str] = {}
        for name, networks in table.items():
            for network in networks:
                if owner.setdefault(network, name) != name:
                    problem = f"{network}: {owner[network]} has it; each {kind} has its own"
                    raise AnabranchError(f"{found.file}: {kind}.{name}.{key}: {problem}")


def _address(settings: Settings, key: str, kinds: tuple[str, ...]) -> str:
    """An address as Open vSwitch writes it."""
    found = settings.text(key)
    if not found:
        return found
    kind, _, rest = found.partition(":")
    if kind not in kinds:
        settings.refuse(key, found, f"not {' or '.join(f'{kind}:' for kind in kinds)}; {nearest(kind, kinds)}")
    if kind == "unix":
        if not rest:
            settings.refuse(key, found, "no path; give unix:/PATH")
        return found
    host, _, port = rest.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) < 1 << 16:
        settings.refuse(key, found, f"not {kind}:HOST:PORT; give both, as in {kind}:10.0.0.1:6653")
    return found


def _pages(settings: Settings) -> str:
    found = settings.text("http", PAGES)
    host, _, port = found.rpartition(":")
    if found != NO_PAGES and not (host and port.isdecimal() and int(port) < 1 << 16):
        settings.refuse("http", found, f'not HOST:PORT; give both, as in {PAGES}, or "{NO_PAGES}"')
    return "" if found == NO_PAGES else found


def _tls(settings: Settings) -> Tls | None:
    given = settings.keys()
    files = {key: settings.text(key) for key in ("key", "certificate", "authority")}
    settings.end()
    if not given:
        return None
    for key, value in files.items():
        if not value:
            raise AnabranchError(f"{settings.file}: tls.{key}: missing; give the name of a PEM file")
    found = Tls(**{key: Path(value) for key, value in files.items()})
    try:
        found.context(server=False)
    except AnabranchError as error:
        raise AnabranchError(f"{settings.file}: {error}") from None
    return found


def _damping(settings: Settings) -> Damping | None:
    use = settings.take("use", True, lambda given: given if isinstance(given, bool) else None, "give true or false")
    found = Damping(
        suppress=settings.number("suppress", 4.0, 1.0, 1000.0),
        reuse=settings.number("reuse", 1.0, 0.01, 1000.0),
        half_life_s=settings.duration_s("half_life", 5.0, 0.01, 3600),
    )
    if found.reuse >= found.suppress:
        settings.refuse("reuse", found.reuse, f"not below suppress, {found.suppress:g}; give less")
    settings.end()
    return found if use else None


def _switches(settings: Settings, topology: Topology) -> dict[str, SwitchFile]:
    found = {}
    for name in _named(settings, topology, topology.switches, "switch"):
        table = settings.table(name)
        interfaces = _interfaces(table.table("ports"), name, topology)
        if table.one_of("datapath", OPENFLOW, (OPENFLOW, EBPF)) == EBPF:
            found[name] = SwitchFile(name, "", "", None, interfaces, _kernel(table, name))
        else:
            found[name] = SwitchFile(
                name=name,
                openflow=_address(table, "openflow", ("unix", "tcp", "ssl")),
                ovsdb=_address(table, "ovsdb", ("unix", "tcp", "ssl")),
                datapath_id=table.take(
                    "datapath_id", None, _datapath_id, 'give 16 hexadecimal digits in quotes: "00..01"'
                ),
                interfaces=interfaces,
            )
        table.end()
    return found


def _kernel(settings: Settings, switch: str) -> KernelFile:
    found = set(switch) & set(FORBIDDEN)
    if found:
        problem = f"{found.pop()!r} in a name is not for the BPF file system, where its datapath is kept; rename it"
        raise AnabranchError(f"{settings.file}: {settings.path}: {problem}")
    scheme = settings.one_of("scheme", "slots", _core.KERNEL_SCHEMES)
    pause_s = settings.duration_s("pause", PAUSE_S.get(scheme, 0.0), 0.0, 3600)
    return KernelFile(scheme, round(1e9 * pause_s), settings.text("namespace"))


def _datapath_id(given: object) -> int | None:
    try:
        found = int(given, 16) if isinstance(given, str) else -1
    except ValueError:
        return None
    return found if 0 <= found < DATAPATH_IDS else None


def _interfaces(settings: Settings, switch: str, topology: Topology) -> dict[End, str]:
    ends = [topology.ends[port] for port in topology.ports_of[switch]]
    neighbours = list(dict.fromkeys(end.neighbour for end in ends))
    found: dict[End, str] = {}
    for neighbour in _named(settings, topology, neighbours, f"neighbour of {switch}"):
        names = settings.texts(neighbour)
        links = [end for end in ends if end.neighbour == neighbour]
        if len(names) != len(links):
            settings.refuse(neighbour, names, f"{len(links)} links lead there; give {len(links)} interfaces")
        found |= dict(zip(links, names, strict=True))
    for end in ends:
        if end not in found:
            mend = f'give the interface, as in ports = {{ {end.neighbour} = "{switch}-{end.neighbour}" }}'
            raise AnabranchError(f"{settings.file}: {settings.path}.{end.neighbour}: missing; {mend}")
    if len({name[:PORT_NAME_MAX] for name in found.values()}) < len(found):
        problem = f"an interface stands there twice; each link has its own, told by {PORT_NAME_MAX} characters"
        raise AnabranchError(f"{settings.file}: {settings.path}: {', '.join(found.values())}: {problem}")
    return found


def _named(settings: Settings, topology: Topology, known: Sequence[str], what: str) -> list[str]:
    """The table's keys, all of them nodes of a sort."""
    for name in settings.keys():  # noqa: SIM118 (a getter of what is left, not a mapping)
        if name not in known:
            problem = f"no {what}" if name in topology.number else "no node of the fabric"
            raise AnabranchError(f"{settings.file}: {settings.path}.{name}: {problem}; {nearest(name, known)}")
    return settings.keys()


def _networks(table: Settings, key: str, host: bool) -> tuple[Network, ...]:
    found: list[Network] = []
    for text in table.texts(key):
        try:
            network = ipaddress.ip_network(text, strict=True)
        except ValueError as error:
            table.refuse(key, text, f"{error}; give it as {'10.1.0.1' if host else '10.1.0.0/24'}")
        if host and network.prefixlen != network.max_prefixlen:
            table.refuse(key, text, "a prefix; give an address, as in 10.1.0.1")
        found.append(network)
    table.end()
    return tuple(found)


def _prefixes(settings: Settings, topology: Topology) -> dict[str, tuple[Network, ...]]:
    names = _named(settings, topology, list(topology.leaf_index), "leaf")
    return {name: _networks(settings.table(name), "prefixes", host=False) for name in names}


def _addresses(settings: Settings, topology: Topology) -> dict[str, tuple[Network, ...]]:
    names = _named(settings, topology, list(topology.leaf_of), "host")
    return {name: _networks(settings.table(name), "addresses", host=True) for name in names}
