"""Makes what a blueprint shows: namespaces, links, shaping, addresses, switches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.fabric import iproute, offload, shaping
from anabranch.lab.fabric.blueprint import Blueprint, Cable, End, Host
from anabranch.lab.fabric.switching import Switching

SUBNET_BITS = 8
"""All hosts are in one subnet, 10.0.0.0/8: switches tell leaves apart by longer prefixes, hosts need no router."""


Progress = Callable[[int, int], None]
"""Told how many of how many hosts and switches are there."""


def build(
    blueprint: Blueprint, switching: Switching, *, mark: str, tso: bool, progress: Progress | None = None
) -> None:
    """Makes it; what goes on by itself if this process is killed has `mark` in its environment, or is inside.

    Raises:
        AnabranchError: the kernel or what switches are made by refuses something.

    """
    iproute.make(blueprint.namespaces, mark)
    for namespace in blueprint.namespaces:
        with inside(namespace):
            _no_ipv6()
    inner, ends = blueprint.switch_namespace, list(_switch_ends(blueprint))
    iproute.batch("ip", inner, _links(blueprint))
    if not tso:
        with inside(inner):
            offload.turn_off(end.device for end in ends)
    cables = {cable.a.node: cable for cable in blueprint.cables if cable.a.node in blueprint.hosts}
    total = len(blueprint.hosts) + len(blueprint.switches)
    for number, host in enumerate(blueprint.hosts.values()):
        if progress:
            progress(number, total)
        iproute.batch("ip", host.namespace, _host_lines(host, blueprint))
        iproute.batch("tc", host.namespace, _shaping(cables[host.name].a))
        if not tso:
            with inside(host.namespace):
                offload.turn_off([host.interface])
    switching.make()
    for number, switch in enumerate(blueprint.switches, start=len(blueprint.hosts)):
        if progress:
            progress(number, total)
        switching.add(switch)
    iproute.batch("tc", inner, (line for end in ends for line in _shaping(end)))
    iproute.batch("ip", inner, (f"link set dev {end.device} up" for end in ends))
    switching.ready()


def _no_ipv6() -> None:
    # Neighbour discovery would put packets of its own into every count.
    for which in ("all", "default"):
        setting = Path(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6")
        if setting.exists():
            setting.write_text("1")


def _switch_ends(blueprint: Blueprint) -> Iterator[End]:
    for cable in blueprint.cables:
        if cable.a.node not in blueprint.hosts:
            yield cable.a
        yield cable.b


def _links(blueprint: Blueprint) -> Iterator[str]:
    """All links are made where the switches are; the hosts' ends come up in their own namespaces at once."""
    for cable in blueprint.cables:
        yield f"link add dev {cable.b.device} type veth peer name {cable.a.device}{_far(cable, blueprint)}"


def _far(cable: Cable, blueprint: Blueprint) -> str:
    host = blueprint.hosts.get(cable.a.node)
    return f" address {host.mac} netns {host.namespace}" if host else ""


def _shaping(end: End) -> Iterator[str]:
    return shaping.lines(end.device, end.rate_bps, end.buffer_bytes)


def _host_lines(host: Host, blueprint: Blueprint) -> Iterator[str]:
    yield "link set lo up"
    yield f"address add {host.address}/{SUBNET_BITS} dev {host.interface}"
    yield f"link set dev {host.interface} up"
    for other in blueprint.hosts.values():
        if other is not host:
            yield f"neighbour add {other.address} lladdr {other.mac} dev {host.interface} nud permanent"
