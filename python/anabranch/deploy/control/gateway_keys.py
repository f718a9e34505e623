"""The key `gateways` of `[switch.NAME]`: the neighbours by which a switch that routes sends packets on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_address

from anabranch.deploy.control.fabric import FabricFile, SwitchFile
from anabranch.deploy.control.topology import End
from anabranch.deploy.netlink.nexthop import Address, Hop
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.settings import Settings

VERSIONS = (4, 6)

Gateways = Mapping[str, Sequence[Address]]
"""Addresses by neighbour: of each link in order, once for each IP version."""


def take(settings: Settings) -> Gateways:
    """Takes the key.

    Raises:
        AnabranchError: what is given is no address.

    """
    meaning = (
        'Address of each neighbour by which packets go there, as in `{ spine0 = ["10.9.1.2", "fd00:1::2"] }`. Where '
        "they may be left out, a switch that has none does not route: it redirects packets as they came."
    )
    table = settings.table("gateways", meaning, names=True)
    return {name: _addresses(table, name) for name in table.keys()}  # noqa: SIM118 (a getter, not a mapping)


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


def check(fabric: FabricFile, switch: SwitchFile, gateways: Gateways) -> None:
    """Checks that there is a gateway on each link to a switch, for each IP version that the fabric has.

    Raises:
        AnabranchError: one is missing, or there are others.

    """
    path = f"{fabric.file}: switch.{switch.name}.gateways"
    links: dict[str, int] = {}
    for end in switch.interfaces:
        links[end.neighbour] = links.get(end.neighbour, 0) + 1
    for name, addresses in gateways.items():
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
        known = {address.version for address in gateways.get(name, ())}
        for version in sorted(versions):
            if version not in known and 6 not in known:
                raise AnabranchError(
                    f"{path}.{name}: no address of IPv{version}, which the fabric has; give one per link, as in "
                    f'gateways = {{ {name} = "{"10.9.1.2" if version == 4 else "fd00:1::2"}" }}'
                )


def hop(switch: SwitchFile, gateways: Gateways, end: End, version: int) -> Hop:
    """The hop by which packets of an IP version leave a port."""
    for gateway_version in (version, 6):
        addresses = [one for one in gateways.get(end.neighbour, ()) if one.version == gateway_version]
        if addresses:
            return Hop(gateway_version, switch.interfaces[end], addresses[end.parallel])
    return Hop(version, switch.interfaces[end])
