"""Weights towards leaves, and the ports of hosts, as groups of a datapath in the kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from anabranch import _core
from anabranch.control.file import KernelFile, Network

WEIGHT_MAX = 0xFFFF
UNITS = 4096
"""Sum to which larger weights are brought down: as many slots as there are."""


def seed_of(switch: str) -> int:
    """Seed of a switch's hash: 32 bits of its name; the next switch must not hash what this one has sorted by it."""
    return int.from_bytes(hashlib.sha256(switch.encode()).digest()[:4], "big")


def towards(
    switch: str,
    kernel: KernelFile,
    leaf: str,
    networks: Sequence[Network],
    ports: Sequence[int],
    living: Mapping[int, int],
) -> _core.KernelGroup | None:
    """The group that leads to a leaf.

    Args:
        switch: that holds it.
        kernel: what its file says.
        leaf: where it leads.
        networks: what lies behind the leaf; None: there is no group.
        ports: interfaces that are paths in the fabric as built: a member keeps its place when others die.
        living: weights by interface of those that are paths now.

    """
    if not networks or not ports:
        return None
    weights = [living.get(port, 0) for port in ports]
    reached = any(weights)
    if max(weights) > WEIGHT_MAX:
        texts = [str(weight) for weight in weights]
        weights = list(_core.webster_slots(texts, [weight > 0 for weight in weights], UNITS))
    # A leaf that cannot be reached has a group that drops: without it, packets would go wherever others say.
    return _group(switch, kernel, leaf, networks, ports, weights if reached else [1] * len(ports), reached)


def to_host(
    switch: str, kernel: KernelFile, host: str, addresses: Sequence[Network], ports: Sequence[int]
) -> _core.KernelGroup | None:
    """The group of a switch's own host."""
    if not addresses or not ports:
        return None
    return _group(switch, kernel, host, addresses, ports, [1] * len(ports), True)


def _group(
    switch: str,
    kernel: KernelFile,
    name: str,
    networks: Sequence[Network],
    ports: Sequence[int],
    weights: list[int],
    up: bool,
) -> _core.KernelGroup:
    return _core.KernelGroup(
        name=name,
        prefixes=[str(network) for network in networks],
        targets=list(ports),
        weights=weights,
        up=[up] * len(ports),
        output="redirect",
        seed=seed_of(switch),
        pause_ns=kernel.pause_ns,
        plain=kernel.plain,
    )


def without(groups: Sequence[_core.KernelGroup], dead: frozenset[int]) -> tuple[_core.KernelGroup, ...]:
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
