"""Weights towards leaves, and the ports of hosts, as groups of a datapath in the kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network

from anabranch import _core
from anabranch.deploy.control.fabric import Network, SwitchFile
from anabranch.deploy.control.forwarding import Forwarding, OwnHost, Towards, in_16_bits
from anabranch.deploy.control.gateway_keys import VERSIONS
from anabranch.deploy.netlink.nexthop import Address
from anabranch.deploy.targets.ebpf.plan_file import ROUTE
from anabranch.deploy.targets.ebpf.session.keys import DatapathKeys

Groups = tuple[_core.KernelGroup, ...]


def seed_of(switch: str) -> int:
    """Seed of a switch's hash: 32 bits of its name; the next switch must not hash what this one has sorted by it."""
    return int.from_bytes(hashlib.sha256(switch.encode()).digest()[:4], "big")


class GroupsForwarding(Forwarding[Groups]):
    """Weights towards leaves as groups of datapaths (`control.forwarding`)."""

    def towards(self, paths: Towards, present: Groups | None) -> Groups:
        """The group that leads to a leaf, or one for each IP version where it routes; none if nothing is behind it."""
        del present
        if not paths.networks or not paths.paths:
            return ()
        weights = in_16_bits([weight for _, weight in paths.paths])
        # A leaf that cannot be reached has a group that drops: without it, the routes of others would take its packets.
        weights = weights if paths.reached else [1] * len(weights)
        ports = [number for number, _ in paths.paths]
        return tuple(
            _group(paths.switch, name, networks, ports, weights, paths.reached)
            for name, networks in _parts(paths.switch, paths.leaf, paths.networks)
        )

    def hosts(self, switch: SwitchFile, hosts: Sequence[OwnHost]) -> Groups:
        """A group for each host that has addresses; none at a switch that routes, whose kernel knows its links."""
        if switch.keys.gateways:
            return ()
        return tuple(
            _group(switch, host.name, host.addresses, host.ports, [1] * len(host.ports), True)
            for host in hosts
            if host.addresses
        )

    def joined(self, parts: Sequence[Groups]) -> Groups:
        """All groups, in this order."""
        return tuple(group for part in parts for group in part)

    def shares(self, switch: SwitchFile, observed: Groups, leaf: str, index: int) -> dict[int, float]:
        """Shares of the leaf's group, alike in both IP versions."""
        del index
        names = group_names(switch, leaf)
        for group in observed:
            if group.name in names:
                total = max(1, sum(group.weights))
                weights = zip(group.targets, group.weights, strict=True)
                return {port: weight / total for port, weight in weights if weight}
        return {}


def group_names(switch: SwitchFile, leaf: str) -> tuple[str, ...]:
    """Names that groups towards a leaf have."""
    return tuple(f"{leaf} IPv{version}" for version in VERSIONS) if switch.keys.gateways else (leaf,)


def _parts(switch: SwitchFile, leaf: str, networks: Sequence[Network]) -> Iterator[tuple[str, Sequence[Network]]]:
    """Networks that a group has in common, with its name: a gateway is of one IP version."""
    if not switch.keys.gateways:
        yield leaf, networks
        return
    for name, version in zip(group_names(switch, leaf), VERSIONS, strict=True):
        of_version = [network for network in networks if network.version == version]
        if of_version:
            yield name, of_version


def _group(
    switch: SwitchFile,
    name: str,
    networks: Sequence[Network],
    ports: Sequence[int],
    weights: list[int],
    up: bool,
) -> _core.KernelGroup:
    keys: DatapathKeys = switch.keys
    return _core.KernelGroup(
        name=name,
        prefixes=[str(network) for network in networks],
        targets=list(ports),
        weights=weights,
        up=[up] * len(ports),
        output="redirect",
        seed=seed_of(switch.name),
        pause_ns=keys.pause_ns,
        plain=keys.plain,
    )


def without(groups: Sequence[_core.KernelGroup], dead: frozenset[int]) -> Groups:
    """The same groups, in which interfaces that have just died carry nothing."""
    if not dead:
        return tuple(groups)
    return tuple(
        _with(group, [up and port not in dead for up, port in zip(group.up, group.targets, strict=True)])
        if dead & set(group.targets)
        else group
        for group in groups
    )


def routed(groups: Sequence[_core.KernelGroup], gateways: Mapping[int, Mapping[int, Address]]) -> Groups:
    """The same groups, which route to the gateways of their interfaces, by number of the interface and IP version.

    A group by which no packet can leave drops, as everywhere: if it routed, others' routes would take its packets.
    """
    return tuple(_routed(group, gateways) for group in groups)


def _routed(group: _core.KernelGroup, gateways: Mapping[int, Mapping[int, Address]]) -> _core.KernelGroup:
    version = ip_network(group.prefixes[0]).version
    ways = [gateways.get(port, {}).get(version) for port in group.targets]
    up = [up and gateway is not None for up, gateway in zip(group.up, ways, strict=True)]
    if not any(up):
        return _with(group, up)
    # Of an interface that is not there nothing is known; its member carries nothing, whatever its gateway.
    some = next(gateway for gateway in ways if gateway is not None)
    return _with(group, up, ROUTE, [gateway or some for gateway in ways])


def _with(
    group: _core.KernelGroup, up: list[bool], output: str = "", gateways: Sequence[Address] = ()
) -> _core.KernelGroup:
    return _core.KernelGroup(
        name=group.name,
        prefixes=group.prefixes,
        targets=group.targets,
        weights=group.weights,
        up=up,
        output=output or group.output,
        seed=group.seed,
        pause_ns=group.pause_ns,
        turns=group.turns,
        plain=group.plain,
        gateways=gateways or group.gateways,
    )
