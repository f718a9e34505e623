"""Packets per flow: equal, or as one of the published distributions of flow sizes."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache

import numpy as np

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import nearest
from anabranch.files.project import sources

PAYLOAD_BYTES = 1460
"""Bytes of a flow that one packet carries: TCP over IPv4 with frames of 1,500 bytes."""
TABLES = "crates/traffic/src/sizes/tables"


@dataclass(frozen=True)
class FlowPackets:
    """Packets of a flow: their mean, and how far their inequality widens a split."""

    mean: float
    spread: float
    """Mean of the squares over the square of the mean: so many flows split as evenly as one of equal flows (Kish)."""


def distributions() -> list[str]:
    """Names of the published distributions, as scenarios have them under `sizes`."""
    return sorted(path.stem.replace("_", "-") for path in (sources() / TABLES).glob("*.csv"))


def flow_packets(packets: float | str) -> FlowPackets:
    """Packets per flow from a number, or from the name of a distribution.

    Raises:
        AnabranchError: the number is not positive, or the name unknown.

    """
    try:
        number = float(packets)
    except ValueError:
        return _published(str(packets))
    if not 0 < number < 1e15:
        raise AnabranchError(f"packets_per_flow: {packets}: out of range; give a positive number")
    return FlowPackets(number, 1.0)


@cache
def _published(name: str) -> FlowPackets:
    """Moments of a published distribution, which is linear between its knots."""
    if name not in distributions():
        hint = nearest(name, distributions())
        raise AnabranchError(f"packets_per_flow: {name}: neither a number nor a distribution of sizes; {hint}")
    with (sources() / TABLES / f"{name.replace('-', '_')}.csv").open(encoding="utf-8", newline="") as file:
        rows = [(float(row["size_bytes"]), float(row["cdf"])) for row in csv.DictReader(file)]
    sizes, shares = np.array(rows).T
    packets = np.arange(1.0, np.ceil(sizes[-1] / PAYLOAD_BYTES) + 1)
    ends = packets * PAYLOAD_BYTES
    above = np.minimum(np.searchsorted(sizes, ends, side="right"), sizes.size - 1)
    below = np.maximum(above - 1, 0)
    part = (ends - sizes[below]) / np.maximum(sizes[above] - sizes[below], 1e-300)
    up_to = np.where(ends >= sizes[-1], 1.0, shares[below] + (shares[above] - shares[below]) * part)
    up_to = np.where(ends < sizes[0], 0.0, up_to)
    probability = np.diff(up_to, prepend=0.0)
    mean = float(probability @ packets)
    return FlowPackets(mean, float(probability @ packets**2) / mean**2)
