"""`fabric.toml`: the fabric as built, where its switches are, which addresses lie where, and how to plan."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.deploy.control import policy
from anabranch.deploy.control.address import take_address
from anabranch.deploy.control.fabric import PORT_NAME_MAX, Damping, FabricFile, Network, SwitchFile
from anabranch.deploy.control.switch_kind import kinds
from anabranch.deploy.control.topology import End, Topology
from anabranch.deploy.openflow.tls import Tls
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.settings import Settings
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.load import read_text

Networks = Mapping[str, Sequence[Network]]
PAGES, NO_PAGES = "127.0.0.1:9653", "off"


def read(path: str | Path) -> FabricFile:
    """Reads and checks the file.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; it names them, and a hint.

    """
    return parse(read_text(path), str(path))


def parse(text: str, file: str) -> FabricFile:
    """Reads a fabric from the text of its file.

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
    recipes = [recipe for kind in kinds() for recipe in kind.recipes]
    found = FabricFile(
        file=file,
        text=text,
        topology=topology,
        weights=weights,
        recipe=planning.one_of("recipe", recipes[0], recipes),
        owner=planning.integer("owner", 0, 0, 255),
        options=options,
        openflow=take_address(listen, "openflow"),
        http=_pages(listen),
        tls=_tls(settings.table("tls")),
        interval_s=measure.duration_s("interval", 1.0, 0.01, 3600),
        audit_s=measure.duration_s("audit", 30.0, 0.1, 86400),
        damping=_damping(settings.table("damping")),
        switches=_switches(settings.table("switch"), topology),
        prefixes=prefixes(settings.table("leaf"), topology),
        addresses=addresses(settings.table("host"), topology),
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
    for kind in kinds():
        kind.check(found)
    refuse_overlaps(found.file, found.prefixes, found.addresses)


def refuse_overlaps(file: str, behind: Networks, at: Networks) -> None:
    """Checks that one prefix is behind one leaf, and one address is one host's.

    Args:
        file: its name, for errors.
        behind: prefixes of each leaf.
        at: addresses of each host.

    Raises:
        AnabranchError: two have the same.

    """
    for kind, key, table in (("leaf", "prefixes", behind), ("host", "addresses", at)):
        owner: dict[Network, str] = {}
        for name, networks in table.items():
            for network in networks:
                if owner.setdefault(network, name) != name:
                    problem = f"{network}: {owner[network]} has it; each {kind} has its own"
                    raise AnabranchError(f"{file}: {kind}.{name}.{key}: {problem}")


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
    found, known = {}, {kind.datapath: kind for kind in kinds()}
    for name in _named(settings, topology, topology.switches, "switch"):
        table = settings.table(name)
        names = interfaces(table.table("ports"), name, topology)
        kind = known[table.one_of("datapath", kinds()[0].datapath, known)]
        found[name] = SwitchFile(name, kind.target, kind.keys(table, name), names)
        table.end()
    return found


def interfaces(settings: Settings, switch: str, topology: Topology) -> dict[End, str]:
    """The name of each port of a switch, from its table `ports`.

    Raises:
        AnabranchError: a link has no name, a name has no link, or two links have one.

    """
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
            hint = f'give the interface, as in ports = {{ {end.neighbour} = "{switch}-{end.neighbour}" }}'
            raise AnabranchError(f"{settings.file}: {settings.path}.{end.neighbour}: missing; {hint}")
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


def prefixes(settings: Settings, topology: Topology) -> dict[str, tuple[Network, ...]]:
    """Prefixes behind each leaf that the table `leaf` names.

    Raises:
        AnabranchError: no leaf, or no prefix.

    """
    names = _named(settings, topology, list(topology.leaf_index), "leaf")
    return {name: _networks(settings.table(name), "prefixes", host=False) for name in names}


def addresses(settings: Settings, topology: Topology) -> dict[str, tuple[Network, ...]]:
    """Addresses of each host that the table `host` names, as prefixes of full length.

    Raises:
        AnabranchError: no host, or no address.

    """
    names = _named(settings, topology, list(topology.leaf_of), "host")
    return {name: _networks(settings.table(name), "addresses", host=True) for name in names}
