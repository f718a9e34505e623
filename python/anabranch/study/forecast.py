"""How long a study will take, told before it begins."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anabranch._core import Scenario
from anabranch.runs.folder import read_manifest
from anabranch.study.job import Job
from anabranch.study.local import cores

HOPS_PER_SECOND = 10e6
"""Packet-hops a second of one core, before any cell of the study has run: half of what an idle one does."""
DRAWN = 60
"""Cells that draw their flows: lists of a million flows take a second each."""
PAYLOAD_BYTES = 1448
HOPS = {"host": 2, "leaf": 2, "aggregation": 6, "spine": 4}
"""Ports that a packet passes, by the fabric's tiers: with aggregations up to the spine and down again."""
ACKNOWLEDGEMENTS = 0.6
"""Frames back for a frame with payload: one for two, and those that losses and short flows add."""


@dataclass(frozen=True)
class Forecast:
    """Work to do and the time for it."""

    packet_hops: float
    seconds: float
    measured: bool
    """Whether the speed is that of cells of the study that have run."""


def forecast(missing: Sequence[Job], done: Iterable[Path]) -> Forecast:
    """From the payload of the flow lists: what schemes add (probes, retransmissions) is not foreseen.

    Of many cells only some draw their flows for it: by chance, for even distances would meet one value of an axis.
    """
    drawn = random.Random(0).sample(missing, min(DRAWN, len(missing)))
    hops = sum(packet_hops(job.scenario()) for job in drawn) * len(missing) / max(1, len(drawn))
    ran = [manifest for manifest in map(read_manifest, done) if manifest is not None]
    seconds = sum(float(manifest["cpu_s"]) for manifest in ran)
    speed = sum(int(manifest["packet_hops"]) for manifest in ran) / seconds if seconds > 1 else HOPS_PER_SECOND
    return Forecast(hops, hops / speed / min(cores(), os.cpu_count() or 1), seconds > 1)


def packet_hops(scenario: Scenario) -> float:
    """Frames with payload and acknowledgements, times the ports on their way."""
    sizes = np.asarray(scenario.flows()["size_bytes"], dtype=np.float64)
    tiers = set(scenario.topology()["nodes"]["tier"])
    hops = max(HOPS[tier] for tier in tiers)
    return float(np.ceil(sizes / PAYLOAD_BYTES).sum()) * (1.0 + ACKNOWLEDGEMENTS) * hops
