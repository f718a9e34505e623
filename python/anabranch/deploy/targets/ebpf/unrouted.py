"""Destinations that packets are routed to although the kernel has no route there, so that it would not forward them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.lookup import look_up
from anabranch.deploy.targets.ebpf.plan_file import EbpfPlan
from anabranch.deploy.targets.plan.group_keys import Network

UDP = 17


def notes(plan: EbpfPlan) -> list[str]:
    """A note for each prefix of a routed group whose first host the kernel has no route to."""
    return list(_notes(plan)) if plan.hops else []


def _notes(plan: EbpfPlan) -> Iterator[str]:
    for one in plan.groups:
        for prefix in without_route(one.prefixes if one.gateways else ()):
            way = f"ip route add {prefix} via {one.gateways[0]} dev {one.ports[0]}"
            yield (
                f"group {one.name}: {prefix}: the kernel has no route there, so it forwards nothing, and its "
                f"packets are not routed; give it one, as with `{way}`"
            )


def without_route(prefixes: Iterable[Network]) -> list[Network]:
    """Those prefixes to whose first host the kernel of the thread's namespace has no route."""
    import numpy as np

    ports = np.zeros(1, np.uint16)
    missing = []
    with Connection() as connection:
        for prefix in prefixes:
            address = np.frombuffer(_host(prefix), np.uint8).reshape(1, -1)
            ((device, _),) = look_up(connection, UDP, address, ports, ports)
            if not device:
                missing.append(prefix)
    return missing


def _host(prefix: Network) -> bytes:
    """The first address of a prefix that may be a host's."""
    return prefix[min(1, prefix.num_addresses - 1)].packed
