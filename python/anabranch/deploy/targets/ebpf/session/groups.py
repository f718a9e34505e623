"""Weights towards leaves, and the ports of hosts, as groups of a datapath in the kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from anabranch import _core
from anabranch.deploy.control.fabric import Network, SwitchFile
from anabranch.deploy.control.forwarding import Forwarding, OwnHost, Towards, in_16_bits
from anabranch.deploy.targets.ebpf.session.keys import DatapathKeys

Groups = tuple[_core.KernelGroup, ...]


def seed_of(switch: str) -> int:
    """Seed of a switch's hash: 32 bits of its name; the next switch must not hash what this one has sorted by it."""
    return int.from_bytes(hashlib.sha256(switch.encode()).digest()[:4], "big")


class GroupsForwarding(Forwarding[Groups]):
    """Weights towards leaves as groups of datapaths (`control.forwarding`)."""

    def towards(self, paths: Towards, present: Groups | None) -> Groups:
        """The group that leads to a leaf; none where nothing lies behind it."""
        del present
        if not paths.networks or not paths.paths:
            return ()
        weights = in_16_bits([weight for _, weight in paths.paths])
        # A leaf that cannot be reached has a group that drops: without it, the routes of others would take its packets.
        weights = weights if paths.reached else [1] * len(weights)
        ports = [number for number, _ in paths.paths]
        return (_group(paths.switch, paths.leaf, paths.networks, ports, weights, paths.reached),)

    def hosts(self, switch: SwitchFile, hosts: Sequence[OwnHost]) -> Groups:
        """A group for each host that has addresses."""
        return tuple(
            _group(switch, host.name, host.addresses, host.ports, [1] * len(host.ports), True)
            for host in hosts
            if host.addresses
        )

    def joined(self, parts: Sequence[Groups]) -> Groups:
        """All groups, in this order."""
        return tuple(group for part in parts for group in part)

    def shares(self, switch: SwitchFile, observed: Groups, leaf: str, index: int) -> dict[int, float]:
        """Shares of the group of that name."""
        del switch, index
        for group in observed:
            if group.name == leaf:
                total = max(1, sum(group.weights))
                weights = zip(group.targets, group.weights, strict=True)
                return {port: weight / total for port, weight in weights if weight}
        return {}


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
    return tuple(_masked(group, dead) if dead & set(group.targets) else group for group in groups)


def _masked(group: _core.KernelGroup, dead: frozenset[int]) -> _core.KernelGroup:
    return _core.KernelGroup(
        name=group.name,
        prefixes=group.prefixes,
        targets=group.targets,
        weights=group.weights,
        up=[up and port not in dead for up, port in zip(group.up, group.targets, strict=True)],
        output=group.output,
        seed=group.seed,
        pause_ns=group.pause_ns,
        turns=group.turns,
        plain=group.plain,
    )
