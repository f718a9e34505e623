"""Weighted groups on all of a lab's datapaths at once, without a controller: for what is measured of a scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anabranch import _core
from anabranch.deploy.control.topology import Topology
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ebpf.switching import SCHEME, Towards, kernel_switches

Pair = tuple[str, str]
"""A switch, and the leaf that it sends to."""


def install(
    lab: Lab,
    scheme: str = SCHEME,
    *,
    weights: Mapping[Pair, Sequence[int]] | None = None,
    pause_ns: int = 0,
) -> dict[str, _core.KernelDatapath]:
    """Has all switches send to every leaf over all shortest paths, by one scheme, and to their own hosts.

    Each switch has one datapath, attached to the ingress of all its ends, with a group named after each leaf (the
    prefix of its hosts) and after each host of its own (its address). Called again with the same scheme it changes
    groups without an interruption; with another, datapaths are made anew. All links count as up.

    Args:
        lab: One with `switch="ebpf"`.
        scheme: One of `_core.KERNEL_SCHEMES`.
        weights: By switch and leaf, a weight for each of its `next_hops(lab)`, 0 for one that is not to be used:
            (1, 0, 0, 0) is a single path. Where none are given, all are 1.
        pause_ns: The scheme's gap or pause; see `_core.KernelGroup`.

    Returns:
        The datapath of each switch: its `counters()` and `shares()` are in the order of its `observed()` groups.

    Raises:
        AnabranchError: the lab's switches are others, the kernel refuses, or weights are not as many as next hops.

    """
    switches, blueprint, given = kernel_switches(lab), lab.blueprint, dict(weights or {})
    towards: dict[str, list[Towards]] = {switch: [] for switch in blueprint.switches}
    for host in blueprint.hosts.values():
        device = lab.interface(host.leaf, host.name)
        towards[host.leaf].append(Towards(host.name, (f"{host.address}/32",), (device,), (1,), (True,)))
    for (switch, leaf), devices in next_hops(lab).items():
        prefix = blueprint.prefix(leaf)
        asked = given.pop((switch, leaf), (1,) * len(devices))
        if len(asked) != len(devices):
            raise AnabranchError(f"weights: {switch}, {leaf}: {len(asked)} for {len(devices)} next hops: {devices}")
        if prefix:
            up = (True,) * len(devices)
            towards[switch].append(Towards(leaf, (prefix,), tuple(devices), tuple(asked), up, pause_ns))
    if given:
        raise AnabranchError(f"weights: {', '.join(next(iter(given)))}: no switch and a leaf that it sends to")
    return {switch: switches.put(switch, scheme, groups) for switch, groups in towards.items()}


def next_hops(lab: Lab) -> dict[Pair, list[str]]:
    """The devices that a switch has towards a leaf, over all shortest paths in the fabric as built."""
    topology = Topology(_core.Fabric(lab.record.scenario, lab.record.scenario_file))
    ports = len(topology.ends)
    return {
        (topology.nodes[switch].name, topology.nodes[leaf].name): [
            lab.interface(end.node, end.neighbour, end.parallel) for end in (topology.ends[port] for port, _ in members)
        ]
        for switch, leaves, members in topology.fabric.groups([True] * ports, [1] * ports, False)
        for leaf in leaves
        if leaf != switch
    }
