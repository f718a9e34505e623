"""Keys of `[switch.NAME]` of a Linux kernel that routes, and what they must have in common with the fabric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from anabranch.deploy.control.address import take_address
from anabranch.deploy.control.fabric import FabricFile, SwitchFile
from anabranch.deploy.control.namespace_session import take_namespace
from anabranch.deploy.control.topology import End
from anabranch.deploy.netlink.nexthop import MPATH, RESILIENT, Address, Hop
from anabranch.deploy.openflow.address import TCP, is_loopback
from anabranch.deploy.targets.linux.plan_file import RECIPES, GroupKeys, take_group_keys
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.settings import Settings

VERSIONS = (4, 6)
BUCKETS = 1024
"""The error is 0.1 % of the whole at most: 32 paths are 3 % off their weights, 4 paths 0.4 %."""


@dataclass(frozen=True)
class RoutesKeys:
    """Where a kernel's routes are, by which gateways they lead, and how they are made."""

    namespace: str
    """The network namespace of its ports, as `ip netns` or a file names it; empty for the controller's own."""
    agent: str
    """Address of the agent on its machine; empty for none, where it is the controller's machine."""
    gateways: Mapping[str, Sequence[Address]]
    """Addresses by neighbour: of each link in order, once for each version."""
    group: GroupKeys
    """Keys of a group that the plan of a kernel has too."""


def read(settings: Settings) -> RoutesKeys:
    """Takes the keys.

    Raises:
        AnabranchError: a key is not as it must be.

    """
    meaning = 'Address of each neighbour by which packets go there, as in `{ spine0 = ["10.9.1.2", "fd00:1::2"] }`.'
    table = settings.table("gateways", meaning, names=True)
    gateways = {name: _addresses(table, name) for name in table.keys()}  # noqa: SIM118 (a getter, not a mapping)
    meaning = "Keys of its nexthop groups and routes, as those of a [plan file](plan-file.md#linux)."
    group = settings.table("group", meaning)
    recipe = group.one_of("recipe", RESILIENT, (RESILIENT, MPATH), RECIPES)
    more = "One number for all weights that may come: another number is another group, and moves connections."
    namespace, agent = take_namespace(settings), _agent(settings)
    if namespace and agent:
        settings.refuse("namespace", namespace, "the agent is in the namespace; leave out one of the two")
    keys = RoutesKeys(namespace, agent, gateways, take_group_keys(group, VERSIONS[0], recipe, BUCKETS, more))
    group.end()
    return keys


def _agent(settings: Settings) -> str:
    meaning = (
        "Address of the [agent](control.md#a-kernel-of-another-machine) on the switch's machine; `tcp:` at loopback "
        "only. Left out, the kernel is of the controller's machine."
    )
    address = take_address(settings, "agent", meaning)
    kind, _, rest = address.partition(":")
    if kind == TCP and not is_loopback(rest.rpartition(":")[0]):
        settings.refuse("agent", address, f"not the controller's machine; take ssl:{rest}")
    return address


def _addresses(table: Settings, name: str) -> tuple[Address, ...]:
    meaning = (
        "Addresses of that neighbour: one per link, in the order of `ports`, and of each IP version that the fabric "
        "has. IPv4 without an address of its own goes by that of IPv6. A host needs none: it is on the link."
    )
    texts = table.texts(name, meaning, values="addresses, one per link and IP version", otherwise="none")
    return tuple(_address(table, name, text) for text in texts)


def _address(table: Settings, name: str, text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        table.refuse(name, text, "not an address; write 10.9.1.2 or fd00:1::2")


def check(fabric: FabricFile, switch: SwitchFile) -> None:
    """Checks that there is a gateway on each link to a switch, for each IP version, and what its agent needs.

    Raises:
        AnabranchError: one is missing, or there are others; an agent is another switch's, or TLS has no keys.

    """
    keys: RoutesKeys = switch.keys
    _check_agent(fabric, switch.name, keys.agent)
    path = f"{fabric.file}: switch.{switch.name}.gateways"
    links: dict[str, int] = {}
    for end in switch.interfaces:
        links[end.neighbour] = links.get(end.neighbour, 0) + 1
    for name, addresses in keys.gateways.items():
        if name not in links:
            raise AnabranchError(f"{path}.{name}: no neighbour of {switch.name}; {nearest(name, list(links))}")
        for version in VERSIONS:
            count = sum(address.version == version for address in addresses)
            if count not in (0, links[name]):
                problem = f"{count} addresses of IPv{version} for {links[name]} links; give one per link"
                raise AnabranchError(f"{path}.{name}: {', '.join(map(str, addresses))}: {problem}")
    versions = {
        network.version for table in (fabric.prefixes, fabric.addresses) for row in table.values() for network in row
    }
    for name in links:
        if fabric.topology.is_host(name):
            continue
        known = {address.version for address in keys.gateways.get(name, ())}
        for version in sorted(versions):
            if version not in known and 6 not in known:
                raise AnabranchError(
                    f"{path}.{name}: no address of IPv{version}, which the fabric has; give one per link, as in "
                    f'gateways = {{ {name} = "{"10.9.1.2" if version == 4 else "fd00:1::2"}" }}'
                )


def _check_agent(fabric: FabricFile, name: str, agent: str) -> None:
    key = f"{fabric.file}: switch.{name}.agent: {agent}"
    if agent.startswith("ssl:") and fabric.tls is None:
        raise AnabranchError(f"{key}: it needs [tls]; give key, certificate and authority")
    for other in fabric.switches_of("linux"):
        if agent and other.name != name and other.keys.agent == agent:
            raise AnabranchError(f"{key}: {other.name} has it; each has its own")


def hop(switch: SwitchFile, end: End, version: int) -> Hop:
    """The hop by which packets of an IP version leave a port."""
    keys: RoutesKeys = switch.keys
    for gateway_version in (version, 6):
        addresses = [one for one in keys.gateways.get(end.neighbour, ()) if one.version == gateway_version]
        if addresses:
            return Hop(gateway_version, switch.interfaces[end], addresses[end.parallel])
    return Hop(version, switch.interfaces[end])
