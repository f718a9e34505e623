"""How long a byte takes through a lab in which nothing else moves, and the delay of links that would make it so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anabranch import _core
from anabranch.lab.fabric.topology import Lab
from anabranch.lab.run.load import links_from
from anabranch.lab.run.run import Choices, ready
from anabranch.lab.traffic.play import play

PROBES = 200
SPACING_NS = 5_000_000
PROBE_FRAME_BYTES = 1 + 70 + 20
"""One byte of payload on the wire of the simulator, preamble and gap included."""


@dataclass(frozen=True)
class Unloaded:
    """One-way times of single bytes over TCP, from the sender's call to the receiver's; medians."""

    near_ns: float
    """Between hosts of one switch."""
    far_ns: float
    """Between hosts that are furthest apart."""
    far_links: int
    host_delay_ns: float
    """Cost of a link to a host beyond the time at its rate: half of the software at the ends and a switch's."""
    uplink_delay_ns: float
    """The same of a link between switches."""


def measure(lab: Lab, scenario: _core.Scenario, choices: Choices = Choices()) -> Unloaded:  # noqa: B008
    """Sends single bytes over connections that are open, one after the other.

    Raises:
        AnabranchError: as `run`.

    """
    topology = scenario.topology()
    distance = {host: links for host, links in links_from(topology, 0).items() if 0 < host < len(lab.hosts)}
    near, far = min(distance, key=distance.__getitem__), max(distance, key=distance.__getitem__)
    with ready(lab, scenario, choices) as stage:
        options = replace(stage.options, persistent=True, connections_per_pair=1, end_ns=None)
        times = {}
        for target in {near, far}:
            flows = {
                "src": [0] * PROBES,
                "dst": [target] * PROBES,
                "size_bytes": [1] * PROBES,
                "start_ns": [index * SPACING_NS for index in range(PROBES)],
            }
            results = play(stage.endpoints, flows, options).flows
            times[target] = float(np.median((results["fct_ns"] - results["late_ns"]).drop_nulls().to_numpy()))
    return delays(topology, lab.scale, times[near], times[far], distance[near], distance[far])


def delays(
    topology: Mapping[str, Any], scale: float, near_ns: float, far_ns: float, near_links: int, far_links: int
) -> Unloaded:
    """Delays of links, the same for all where all hosts are equally far."""
    rate = np.median(topology["ports"]["rate_bps"]) * scale
    wire_ns = 8e9 * PROBE_FRAME_BYTES / float(rate)
    if near_links == far_links:
        host_ns = uplink_ns = far_ns / far_links
    else:
        host_ns = near_ns / near_links
        uplink_ns = (far_ns - near_ns) / (far_links - near_links)
    return Unloaded(near_ns, far_ns, far_links, max(0.0, host_ns - wire_ns), max(0.0, uplink_ns - wire_ns))
