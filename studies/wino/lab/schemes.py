"""Schemes compared: the tables and marks of each, in the lab and in the simulator."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.deploy.control import file as fabric_file
from anabranch.deploy.control import policy
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.policy import View
from anabranch.deploy.control.policy.wino import Wino
from anabranch.deploy.marking import nftables as marking
from anabranch.deploy.openflow.connection import connect
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.switches.ovs.switching import open_vswitch
from anabranch.simulate.runs.load import read_text

from . import saps, shaping

SLICE = "10 Mbps"
"""Section IV-B: 15 slices of 1 Gbit/s on links of 10 and 5."""


@dataclass(frozen=True)
class Scheme:
    """One way to use two unequal paths."""

    name: str
    what: str
    weights: str
    """The controller's policy."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """`[policy.NAME]`."""
    blind: bool = False
    """It plans as if no link were slower than built."""
    shaped: bool = False
    """Slices are classes of HTB."""
    by_size: bool = False
    """Senders put each flow on some of the paths, by its size (SAPS)."""
    simulated: tuple[tuple[str, str], ...] = ()
    """`[routing]` of the simulator."""


def _routing(**keys: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"routing.{key.replace('__', '.')}", f'"{value}"') for key, value in keys.items())


SLICES = {"slice_max": SLICE}
SCHEMES = (
    Scheme("ecmp", "flows by hash, paths alike", "equal", simulated=_routing(balance="ecmp")),
    Scheme(
        "weighted", "flows by hash, 2:1 (gravity)", "capacity", simulated=_routing(balance="valo", weights="capacity")
    ),
    Scheme("spray", "packets in turn, paths alike", "wino", blind=True, simulated=_routing(balance="spray")),
    Scheme(
        "saps",
        "packets of a flow in turn over paths of one rate, by its size",
        "wino",
        blind=True,
        by_size=True,
        simulated=_routing(
            balance="saps", scheme__threshold=f"{saps.THRESHOLD_BYTES} B", scheme__quantum=f"{saps.QUANTUM_BPS} bps"
        ),
    ),
    Scheme(
        "slices",
        "Wino's slices without limits",
        "wino",
        {**SLICES, "meters": False},
        simulated=_routing(balance="wino", scheme__slice_max=SLICE, scheme__meter="off"),
    ),
    Scheme(
        "wino-meters",
        "Wino, slices policed by meters",
        "wino",
        SLICES,
        simulated=_routing(balance="wino", scheme__slice_max=SLICE, scheme__burst="20 ms"),
    ),
    Scheme(
        "wino-htb",
        "Wino, slices shaped by HTB",
        "wino",
        {**SLICES, "meters": False},
        shaped=True,
        simulated=_routing(balance="wino", scheme__slice_max=SLICE, scheme__meter="shape", scheme__queue="10 ms"),
    ),
)


COMPARED = ("weighted", "saps", "wino-meters")
"""Schemes beside north-south traffic and under data mining: the paper's two, and what needs no mark."""

Flows = Mapping[str, Any]
"""Columns of flows, as `play` takes them."""


@dataclass(frozen=True)
class Network:
    """What the controller knows of the network."""

    rate_bps: Mapping[frozenset[str], int] = field(default_factory=dict)
    """By its two ends, the rate of each link that is not as built."""
    outside_bps: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Measured traffic in no slice from a switch to its neighbour."""


@contextmanager
def installed(lab: Lab, scheme: Scheme, network: Network) -> Iterator[Callable[[Flows, int], Flows]]:
    """The scheme in force, in switches and hosts; yields what the senders make of flows, given the run's seed.

    Raises:
        AnabranchError: a switch, nft or tc refuses.

    """
    file = _file(lab, scheme)
    planner = policy.build(scheme.weights, file)
    plans = planner.plan(_view(lab, file, Network() if scheme.blind else network))
    asyncio.run(_apply(lab, Ownership(file.owner), {switch: plan.desired for switch, plan in plans.items()}))
    pairs = planner.pairs if isinstance(planner, Wino) else ()
    built = {frozenset((cable.a.node, cable.b.node)): cable.a.rate_bps for cable in lab.blueprint.cables}
    rates = built | dict(network.rate_bps)
    by_size: saps.Saps | None = None
    if scheme.by_size:
        by_size = saps.Saps.of(
            pairs, lambda a, b: max(0, rates[frozenset((a, b))] - int(network.outside_bps.get((a, b), 0)))
        )
        for host in lab.hosts.values():
            marking.install(by_size.marks(host.leaf), enter=host.enter)
    elif isinstance(planner, Wino):
        document = json.dumps(planner.labels({switch: plan.desired for switch, plan in plans.items()}))
        for host in lab.hosts.values():
            marking.install(marking.marks_of(document, leaf=host.leaf, addresses=()), enter=host.enter)
    if scheme.shaped:
        shaping.install(lab, pairs, rates)
    try:
        yield lambda flows, seed: flows if by_size is None else by_size.marked(lab, flows, seed)
    finally:
        if scheme.shaped:
            shaping.remove(lab, pairs, rates)
        for host in lab.hosts.values():
            marking.remove(enter=host.enter)


def _file(lab: Lab, scheme: Scheme) -> FabricFile:
    """The lab's fabric with the scheme's policy."""
    as_built = fabric_file.parse(read_text(lab.fabric_file), str(lab.fabric_file))
    return replace(as_built, weights=scheme.weights, options=scheme.options)


def _view(lab: Lab, file: FabricFile, network: Network) -> View:
    """The network as a controller would see it, all links up."""
    topology = file.topology
    numbers = {
        (bridge, end.device): number
        for bridge in lab.switches
        for number, (end, _) in enumerate(lab.blueprint.ports(bridge), start=1)
    }
    openflow = {
        port: numbers[end.node, lab.interface(end.node, end.neighbour, end.parallel)]
        for port, end in enumerate(topology.ends)
        if end.node in lab.switches
    }
    rates = tuple(
        network.rate_bps.get(frozenset((end.node, end.neighbour)), built)
        for end, built in zip(topology.ends, topology.rate_bps, strict=True)
    )
    loads = tuple(network.outside_bps.get((end.node, end.neighbour), 0.0) for end in topology.ends)
    return View(topology, (True,) * len(rates), rates, loads, openflow, measurements=int(bool(network.outside_bps)))


async def _apply(lab: Lab, ownership: Ownership, desired: Mapping[str, Tables]) -> None:
    for switch, tables in desired.items():
        connection = await connect(open_vswitch(lab).openflow(switch))
        try:
            observed = ownership.own(await connection.flows(), await connection.groups(), await connection.meters())
            await connection.commit(TablesChange.between(observed, tables).mods)
        finally:
            connection.close()
            await connection.wait_closed()
