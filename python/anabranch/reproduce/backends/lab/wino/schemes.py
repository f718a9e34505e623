"""Schemes compared: the tables and marks of each, in the lab and in the simulator."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.control import file as fabric_file
from anabranch.control import policy
from anabranch.control.fabric import FabricFile
from anabranch.control.policy import View
from anabranch.control.policy.wino import Wino
from anabranch.lab.fabric.topology import Lab
from anabranch.marking import nftables as marking
from anabranch.openflow.connection import connect
from anabranch.openflow.tables import Tables
from anabranch.reproduce.backends.lab.wino import shaping
from anabranch.runs.load import read_text
from anabranch.targets.ovs.change import TablesChange
from anabranch.targets.ovs.lab import open_vswitch
from anabranch.targets.ovs.ownership import Ownership

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


@contextmanager
def installed(lab: Lab, scheme: Scheme, rate_bps: dict[frozenset[str], int]) -> Iterator[None]:
    """The scheme in force, in switches and hosts; rates are those of links that are not as built.

    Raises:
        AnabranchError: a switch, nft or tc refuses.

    """
    file = _file(lab, scheme)
    made = policy.build(scheme.weights, file)
    plans = made.plan(_view(lab, file, {} if scheme.blind else rate_bps))
    asyncio.run(_apply(lab, Ownership(file.owner), {switch: plan.desired for switch, plan in plans.items()}))
    pairs = made.pairs if isinstance(made, Wino) else ()
    rates = {frozenset((cable.a.node, cable.b.node)): cable.a.rate_bps for cable in lab.blueprint.cables} | rate_bps
    if isinstance(made, Wino):
        said = json.dumps(made.labels({switch: plan.desired for switch, plan in plans.items()}))
        for host in lab.hosts.values():
            marking.install(marking.marks_of(said, leaf=host.leaf, addresses=()), enter=host.enter)
    if scheme.shaped:
        shaping.install(lab, pairs, rates)
    try:
        yield
    finally:
        if scheme.shaped:
            shaping.remove(lab, pairs, rates)
        for host in lab.hosts.values():
            marking.remove(enter=host.enter)


def _file(lab: Lab, scheme: Scheme) -> FabricFile:
    """The lab's fabric with the scheme's policy."""
    as_built = fabric_file.parse(read_text(lab.fabric_file), str(lab.fabric_file))
    return replace(as_built, weights=scheme.weights, options=scheme.options)


def _view(lab: Lab, file: FabricFile, rate_bps: Mapping[frozenset[str], int]) -> View:
    """The network as a controller would see it: all links up, no traffic, and these rates."""
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
        rate_bps.get(frozenset((end.node, end.neighbour)), built)
        for end, built in zip(topology.ends, topology.rate_bps, strict=True)
    )
    return View(topology, (True,) * len(rates), rates, (0.0,) * len(rates), openflow)


async def _apply(lab: Lab, ownership: Ownership, wanted: Mapping[str, Tables]) -> None:
    for switch, tables in wanted.items():
        connection = await connect(open_vswitch(lab).openflow(switch))
        try:
            held = ownership.own(await connection.flows(), await connection.groups(), await connection.meters())
            await connection.commit(TablesChange.between(held, tables).mods)
        finally:
            connection.close()
            await connection.wait_closed()
