"""`fabric.toml`: the fabric as built, where its switches are, which addresses lie where, and how to plan."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path

from anabranch import _core
from anabranch.deploy.control import policy, state_key
from anabranch.deploy.control.address import take_address
from anabranch.deploy.control.fabric import PORT_NAME_MAX, Damping, FabricFile, Network, SwitchFile, WiringCheck
from anabranch.deploy.control.switch_kind import kinds
from anabranch.deploy.control.topology import End, Topology
from anabranch.deploy.openflow.tls import Tls
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.settings import REQUIRED, TABLE, Settings
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.load import read_text

Networks = Mapping[str, Sequence[Network]]
PAGES, NO_PAGES = "127.0.0.1:9653", "off"
PEM_FILES = {
    "key": "key, for all addresses that begin with `ssl:`",
    "certificate": "certificate",
    "authority": "authority whose certificates both ends must show",
}
"""Keys of `tls` and the contents of their files."""


def read(path: str | Path) -> FabricFile:
    """Reads and checks the file.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; it names them, and a hint.

    """
    return parse(read_text(path), str(path))


def parse(text: str, file: str, *, has_keys: bool = True) -> FabricFile:
    """Reads a fabric from the text of its file; without `has_keys`, files of TLS need not exist.

    Raises:
        AnabranchError: as `read`.

    """
    settings = Settings(file, "", parse_toml(text, file))
    topology = Topology(_core.Fabric(text, file))
    meaning = "The fabric as built, exactly as in a [scenario](scenario.md)."
    settings.given("fabric", None, meaning, otherwise=REQUIRED, values=TABLE)
    planning, listen, measure = (settings.table(key) for key in ("policy", "listen", "measure"))
    meaning = "How weights are found: [policies](control.md#policies)."
    weights = planning.one_of("weights", "capacity", policy.names(), meaning)
    recipes = [recipe for kind in kinds() for recipe in kind.recipes]
    recipe_meaning = "How a weighted group is written into Open vSwitch: [recipes](deploy.md#recipes)."
    fabric = FabricFile(
        file=file,
        text=text,
        topology=topology,
        weights=weights,
        recipe=planning.one_of("recipe", recipes[0], recipes, recipe_meaning),
        owner=planning.integer("owner", 0, 0, 255, "Mark of the cookies and group numbers that are this controller's."),
        options=planning.take(
            weights,
            {},
            lambda given: given if isinstance(given, dict) else None,
            "write a table",
            "Settings of the policy of that name; every policy may have such a table.",
            otherwise="empty",
            values=TABLE,
        ),
        openflow=take_address(listen, "openflow", "Address that switches may connect to."),
        http=_pages(listen),
        tls=_tls(settings.table("tls"), has_keys=has_keys),
        interval_s=measure.duration_s("interval", 1.0, 0.01, 3600, "Time between two readings of counters."),
        audit_s=measure.duration_s(
            "audit", 30.0, 0.1, 86400, "Time between two readings of a switch's tables while nothing changes."
        ),
        damping=_damping(settings.table("damping")),
        wiring=_wiring(settings.table("wiring")),
        takeover_s=_redundancy(settings.table("redundancy")),
        switches=_switches(settings.table("switch", names=True), topology),
        prefixes=prefixes(settings.table("leaf", names=True), topology),
        addresses=addresses(settings.table("host", names=True), topology),
    )
    for part in (planning, listen, measure, settings):
        part.end()
    _check(fabric)
    policy.build(weights, fabric)
    return fabric


def _check(fabric: FabricFile) -> None:
    """Checks what no key says by itself."""
    file = fabric.file
    for name in fabric.topology.switches:
        if name not in fabric.switches:
            raise AnabranchError(f"{file}: switch.{name}: missing; give its table, as in [switch.{name}]")
    state_key.check(fabric)
    for kind in kinds():
        kind.check(fabric)
        switches = fabric.switches_of(kind.target)
        if fabric.takeover_s is not None and switches and not kind.has_arbiter:
            problem = f"{switches[0].name} is {kind.noun}, which takes changes of any controller"
            raise AnabranchError(f"{file}: redundancy.use: true: {problem}; leave it out")
    refuse_overlaps(fabric.file, fabric.prefixes, fabric.addresses)


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
    meaning = "Address of the [pages](control.md#pages)."
    address = settings.text("http", PAGES, meaning, values=f'`HOST:PORT`, or `"{NO_PAGES}"`')
    host, _, port = address.rpartition(":")
    if address != NO_PAGES and not (host and port.isdecimal() and int(port) < 1 << 16):
        settings.refuse("http", address, f'not HOST:PORT; give both, as in {PAGES}, or "{NO_PAGES}"')
    return "" if address == NO_PAGES else address


def _tls(settings: Settings, *, has_keys: bool) -> Tls | None:
    given = settings.keys()
    files = {
        key: settings.text(key, "", f"PEM file of the {meaning}.", otherwise="none", values="a file")
        for key, meaning in PEM_FILES.items()
    }
    settings.end()
    if not given:
        return None
    for key, value in files.items():
        if not value:
            raise AnabranchError(f"{settings.file}: tls.{key}: missing; give the name of a PEM file")
    tls = Tls(**{key: Path(value) for key, value in files.items()})
    if not has_keys:
        return tls
    try:
        tls.context(server=False)
    except AnabranchError as error:
        raise AnabranchError(f"{settings.file}: {error}") from None
    return tls


def _damping(settings: Settings) -> Damping | None:
    use = settings.flag("use", True, "Whether links that flap are left down.")
    suppress_meaning = "Penalty from which a link is left down. Every loss adds 1."
    reuse_meaning = "Penalty below which the link is used again; less than `suppress`."
    damping = Damping(
        suppress=settings.number("suppress", 4.0, 1.0, 1000.0, suppress_meaning),
        reuse=settings.number("reuse", 1.0, 0.01, 1000.0, reuse_meaning),
        half_life_s=settings.duration_s("half_life", 5.0, 0.01, 3600, "Time in which a penalty halves."),
    )
    if damping.reuse >= damping.suppress:
        settings.refuse("reuse", damping.reuse, f"not below suppress, {damping.suppress:g}; give less")
    settings.end()
    return damping if use else None


def _wiring(settings: Settings) -> WiringCheck:
    use_meaning = "Whether switches find out by LLDP frames how they are [wired](control.md#wiring)."
    check = WiringCheck(
        use=settings.flag("use", True, use_meaning),
        interval_s=settings.duration_s("interval", 2.0, 0.05, 3600, "Time between two frames of a port."),
    )
    settings.end()
    return check


def _redundancy(settings: Settings) -> float | None:
    use_meaning = "Whether [other controllers](control.md#two-controllers) follow the fabric too."
    use = settings.flag("use", False, use_meaning)
    takeover_meaning = "Time after which another controller replaces one that gives no sign of life."
    takeover_s: float = settings.duration_s("takeover", 1.0, 0.1, 60, takeover_meaning)
    settings.end()
    return takeover_s if use else None


def _switches(settings: Settings, topology: Topology) -> dict[str, SwitchFile]:
    switches, known = {}, {kind.datapath: kind for kind in kinds()}
    for name in _named(settings, topology, topology.switches, "switch"):
        table = settings.table(name)
        ports_meaning = 'Interface by neighbour, as in `{ spine0 = "eth49" }`.'
        ports = table.table("ports", ports_meaning, otherwise=REQUIRED, names=True)
        names = interfaces(ports, name, topology)
        meaning = "; ".join(f'`"{kind.datapath}"` is {kind.about}' for kind in kinds())
        kind = known[table.one_of("datapath", kinds()[0].datapath, known, f"{meaning}.")]
        switches[name] = SwitchFile(name, kind.target, kind.keys(table, name), names)
        table.end()
    return switches


def interfaces(settings: Settings, switch: str, topology: Topology) -> dict[End, str]:
    """The name of each port of a switch, from its table `ports`.

    Raises:
        AnabranchError: a link has no name, a name has no link, or two links have one.

    """
    ends = [topology.ends[port] for port in topology.ports_of[switch]]
    neighbours = list(dict.fromkeys(end.neighbour for end in ends))
    by_end: dict[End, str] = {}
    for neighbour in _named(settings, topology, neighbours, f"neighbour of {switch}"):
        meaning = "Interface towards that neighbour; a list for parallel links."
        names = settings.texts(neighbour, meaning, values="a name, or a list of names", otherwise=REQUIRED)
        links = [end for end in ends if end.neighbour == neighbour]
        if len(names) != len(links):
            settings.refuse(neighbour, names, f"{len(links)} links lead there; give {len(links)} interfaces")
        by_end |= dict(zip(links, names, strict=True))
    for end in ends:
        if end not in by_end:
            hint = f'give the interface, as in ports = {{ {end.neighbour} = "{switch}-{end.neighbour}" }}'
            raise AnabranchError(f"{settings.file}: {settings.path}.{end.neighbour}: missing; {hint}")
    if len({name[:PORT_NAME_MAX] for name in by_end.values()}) < len(by_end):
        problem = f"an interface stands there twice; each link has its own, told by {PORT_NAME_MAX} characters"
        raise AnabranchError(f"{settings.file}: {settings.path}: {', '.join(by_end.values())}: {problem}")
    return by_end


def _named(settings: Settings, topology: Topology, known: Sequence[str], what: str) -> list[str]:
    """The table's keys, all of them nodes of a sort."""
    for name in settings.keys():  # noqa: SIM118 (a getter of what is left, not a mapping)
        if name not in known:
            problem = f"no {what}" if name in topology.number else "no node of the fabric"
            raise AnabranchError(f"{settings.file}: {settings.path}.{name}: {problem}; {nearest(name, known)}")
    return settings.keys()


def _networks(table: Settings, key: str, meaning: str, *, host: bool) -> tuple[Network, ...]:
    networks: list[Network] = []
    for text in table.texts(key, meaning, values=f"a list of {key}", otherwise="none"):
        try:
            network = ipaddress.ip_network(text, strict=True)
        except ValueError as error:
            table.refuse(key, text, f"{error}; give it as {'10.1.0.1' if host else '10.1.0.0/24'}")
        if host and network.prefixlen != network.max_prefixlen:
            table.refuse(key, text, "a prefix; give an address, as in 10.1.0.1")
        networks.append(network)
    table.end()
    return tuple(networks)


def prefixes(settings: Settings, topology: Topology) -> dict[str, tuple[Network, ...]]:
    """Prefixes behind each leaf that the table `leaf` names.

    Raises:
        AnabranchError: no leaf, or no prefix.

    """
    names = _named(settings, topology, list(topology.leaf_index), "leaf")
    meaning = "Prefixes that other switches send towards this leaf, besides the addresses of its hosts."
    return {name: _networks(settings.table(name), "prefixes", meaning, host=False) for name in names}


def addresses(settings: Settings, topology: Topology) -> dict[str, tuple[Network, ...]]:
    """Addresses of each host that the table `host` names, as prefixes of full length.

    Raises:
        AnabranchError: no host, or no address.

    """
    names = _named(settings, topology, list(topology.leaf_of), "host")
    meaning = "Addresses that the host's leaf sends to its port."
    return {name: _networks(settings.table(name), "addresses", meaning, host=True) for name in names}
