"""Parts of a lab, worked out from a scenario before anything is made: names, addresses, links, rates."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.files.errors import AnabranchError

DEVICE_NAME_MAX = 15
"""IFNAMSIZ of linux/if.h, less the final zero."""
HOST_DEVICE = "eth0"
FRAME_BYTES = 1514
"""Bytes of a full frame as Linux queues it: each packet of a buffer counted in packets takes this room."""
HOSTS_PER_LEAF_MAX = 254
LEAVES_MAX = 254 * 256
LAB_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Host:
    """An end host: a network namespace with one device."""

    name: str
    namespace: str
    address: str
    mac: str
    interface: str
    leaf: str
    """The switch it is linked to."""

    @property
    def enter(self) -> list[str]:
        """Words to write before a command for it to run on this host."""
        return enter(self.namespace)


@dataclass(frozen=True)
class End:
    """One end of a link: the device that sends from `node`."""

    node: str
    device: str
    rate_bps: int
    buffer_bytes: int | None
    """Room for waiting frames; None: no limit."""


@dataclass(frozen=True)
class Cable:
    """A link. Where one end is a host, that is `a`."""

    a: End
    b: End
    parallel: int
    """Number among the links of the same two nodes."""


@dataclass(frozen=True)
class Blueprint:
    """A lab before it is built."""

    name: str
    switch_namespace: str
    hosts: dict[str, Host]
    switches: list[str]
    cables: list[Cable]
    delay_ns: float
    """The longest delay that the scenario wants of a link, and no lab has."""

    @property
    def namespaces(self) -> list[str]:
        """All of them, that of the switches first."""
        return [self.switch_namespace, *(host.namespace for host in self.hosts.values())]

    def ports(self, switch: str) -> list[tuple[End, str]]:
        """The devices of a switch and the nodes they lead to; its ports are numbered in this order from 1."""
        switch_ports = []
        for cable in self.cables:
            for end, other in ((cable.a, cable.b), (cable.b, cable.a)):
                if end.node == switch:
                    switch_ports.append((end, other.node))
        return switch_ports

    def prefix(self, leaf: str) -> str | None:
        """Prefix of its hosts, if it has any, which other switches send towards this one."""
        for host in self.hosts.values():
            if host.leaf == leaf:
                return host.address.rpartition(".")[0] + ".0/24"
        return None


def enter(namespace: str) -> list[str]:
    """A command prefix. Unlike `ip netns exec`, nsenter leaves /sys as it is."""
    return ["nsenter", f"--net=/run/netns/{namespace}", "--"]


def draw(name: str, topology: Mapping[str, Any], scale: float = 1.0) -> Blueprint:
    """The lab of a topology as `Fabric.topology()` gives it, its rates multiplied by `scale`.

    Raises:
        AnabranchError: names or numbers that Linux or the lab's addresses have no room for.

    """
    if not LAB_NAME.fullmatch(name):
        raise AnabranchError(f"name: {name}: not the name of a lab; take up to 40 of a-z, 0-9, _ and -")
    names: list[str] = topology["nodes"]["name"]
    hosts = {node for node, tier in zip(names, topology["nodes"]["tier"], strict=True) if tier == "host"}
    _check_names(names, hosts)
    cables = _cables(topology, hosts, scale)
    return Blueprint(
        name,
        f"anabranch.{name}",
        _hosts(name, [node for node in names if node in hosts], cables, names),
        [node for node in names if node not in hosts],
        cables,
        max(topology["ports"]["delay_ns"], default=0.0),
    )


def scaled(rate_bps: float, scale: float) -> int:
    """A rate of the scenario as the lab has it."""
    return max(1, round(rate_bps * scale))


def _check_names(names: list[str], hosts: set[str]) -> None:
    for node in names:
        if not NODE_NAME.fullmatch(node):
            raise AnabranchError(f"fabric: node {node!r}: no name for a device; take letters, digits, dot, _ and -")
        if node not in hosts and len(node) > DEVICE_NAME_MAX:
            raise AnabranchError(
                f"fabric: node {node}: a bridge's name has at most {DEVICE_NAME_MAX} characters; shorten it"
            )


def _cables(topology: Mapping[str, Any], hosts: set[str], scale: float) -> list[Cable]:
    names, ports = topology["nodes"]["name"], topology["ports"]
    pairs: list[tuple[int, int]] = []
    for port, back in enumerate(ports["reverse"]):
        a, b = names[ports["from"][port]], names[ports["to"][port]]
        if port < back:
            if a in hosts and b in hosts:
                raise AnabranchError(f"fabric: {a} and {b}: hosts linked to each other; put a switch between them")
            pairs.append((back, port) if b in hosts else (port, back))
    labels = _labels([(names[ports["from"][port]], names[ports["to"][port]]) for pair in pairs for port in pair], hosts)
    cables: list[Cable] = []
    seen: Counter[frozenset[str]] = Counter()
    for number, pair in enumerate(pairs):
        a, b = (
            End(
                names[ports["from"][port]],
                labels[2 * number + side],
                scaled(ports["rate_bps"][port], scale),
                _buffer_bytes(ports, port),
            )
            for side, port in enumerate(pair)
        )
        nodes = frozenset((a.node, b.node))
        cables.append(Cable(a, b, seen[nodes]))
        seen[nodes] += 1
    return cables


def _buffer_bytes(ports: Mapping[str, Any], port: int) -> int | None:
    size, packets = ports["buffer_bytes"][port], ports["buffer_packets"][port]
    if packets is not None:
        return int(packets) * FRAME_BYTES
    return None if size is None else int(size)


def _labels(ends: list[tuple[str, str]], hosts: set[str]) -> list[str]:
    """Names of devices: `leaf0-spine1`, `leaf0-spine1.1` for a second parallel link; shortened where too long."""
    taken: set[str] = {name for end in ends for name in end}
    seen: Counter[tuple[str, str]] = Counter()
    labels = []
    for end in ends:
        number, seen[end] = seen[end], seen[end] + 1
        if end[0] in hosts:
            labels.append(HOST_DEVICE)
            continue
        full = "-".join(end) + (f".{number}" if number else "")
        digest = hashlib.sha256(f"{end[0]}/{end[1]}/{number}".encode()).hexdigest()
        label = next(
            name
            for name in (full, *(f"{end[0][:6]}-{digest[at : at + 8]}" for at in range(len(digest) - 8)))
            if len(name) <= DEVICE_NAME_MAX and name not in taken
        )
        taken.add(label)
        labels.append(label)
    return labels


def _hosts(lab: str, names: list[str], cables: list[Cable], order: list[str]) -> dict[str, Host]:
    links: dict[str, list[Cable]] = {name: [] for name in names}
    for cable in cables:
        if cable.a.node in links:
            links[cable.a.node].append(cable)
    for name, ends in links.items():
        if len(ends) != 1:
            raise AnabranchError(f"fabric: host {name}: {len(ends)} links; a host of a lab has one")
    with_hosts = {ends[0].b.node for ends in links.values()}
    leaves = {leaf: number for number, leaf in enumerate(node for node in order if node in with_hosts)}
    if len(leaves) > LEAVES_MAX:
        raise AnabranchError(f"fabric: {len(leaves)} switches with hosts; a lab has addresses for {LEAVES_MAX}")
    hosts, seen = {}, Counter[str]()
    for number, (name, (cable,)) in enumerate(links.items()):
        leaf = cable.b.node
        seen[leaf] += 1
        if seen[leaf] > HOSTS_PER_LEAF_MAX:
            raise AnabranchError(f"fabric: {leaf}: more than {HOSTS_PER_LEAF_MAX} hosts; a leaf has so many addresses")
        hosts[name] = Host(
            name,
            f"anabranch.{lab}.{name}",
            f"10.{(leaves[leaf] >> 8) + 1}.{leaves[leaf] & 255}.{seen[leaf]}",
            # Locally administered (IEEE 802 section 8.2).
            f"02:ab:{number >> 24 & 255:02x}:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}",
            HOST_DEVICE,
            leaf,
        )
    return hosts
