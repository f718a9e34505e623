"""Link bandwidths that routers announce, and the weights that FRR makes of them.

bgpd keeps the bandwidth of a path in bytes per second, as the community carries it (a float of 32 bits,
draft-ietf-idr-link-bandwidth), and gives zebra each path's part of the sum in percent, rounded down
(`bgp_zebra_use_nhop_weighted`, bgpd/bgp_zebra.c); a next hop of weight 0 becomes one of weight 1 in zebra.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anabranch.deploy.targets.plan.group import fitted, short

MBPS_MAX = 25600
"""Largest bandwidth of `set extcommunity bandwidth`, in Mbit/s."""
BYTES_PER_MBIT = 125_000
PERCENT = 100
PATHS_MAX = 64
"""Most paths of `maximum-paths` that every build of FRR takes."""


def announced(weights: Sequence[int], rates_bps: Sequence[int]) -> list[int]:
    """Bandwidths in the ratio of weights, in Mbit/s from 1; 0 where a path carries nothing and is not announced.

    The largest is the rate of its own port, or the most that FRR takes.

    Args:
        weights: of the paths of one group, from 0.
        rates_bps: of their ports.

    """
    most = max(weights)
    if not most:
        return [0] * len(weights)
    if most > MBPS_MAX:
        return fitted(weights, MBPS_MAX)[0]
    rate_mbps = rates_bps[weights.index(most)] // 1_000_000
    unit = max(1, min(MBPS_MAX, rate_mbps) // most)
    return [weight * unit for weight in weights]


def stored_bytes_per_s(mbps: int) -> int:
    """The bandwidth that bgpd keeps of an announced one: rounded to a float of 32 bits."""
    return int(np.float32(mbps * BYTES_PER_MBIT))


def installed(bytes_per_s: Sequence[int]) -> list[int]:
    """Weights that FRR installs for paths of one route; those without a path are not given.

    Args:
        bytes_per_s: bandwidth of each path as bgpd keeps it; 0 where the path has none. One such path, and all are
            alike: FRR then heeds no bandwidth.

    """
    if len(bytes_per_s) == 1 or not all(bytes_per_s):
        return [1] * len(bytes_per_s)
    total = sum(bytes_per_s)
    return [max(1, PERCENT * one // total) for one in bytes_per_s]


def predicted(mbps: Sequence[int]) -> list[int]:
    """Weights that FRR installs for announced bandwidths in Mbit/s; 0 where a path is not announced."""
    carrying = [stored_bytes_per_s(one) for one in mbps if one]
    weights = iter(installed(carrying))
    return [next(weights) if one else 0 for one in mbps]


def notes(name: str, weights: Sequence[int], mbps: Sequence[int]) -> list[str]:
    """What FRR cannot keep of the weights of a group, for people."""
    lost = []
    if any(weight and not one for weight, one in zip(weights, mbps, strict=True)) or max(weights) > MBPS_MAX:
        lost.append(f"{name}: weights {short(weights)} become bandwidths of at most {MBPS_MAX} Mbit/s, {short(mbps)}")
    if not all(weights):
        lost.append(
            f"{name}: a path of weight 0 is not announced at all: FRR takes bandwidth 0 for none, and heeds no "
            "bandwidth of the others then"
        )
    total = sum(mbps)
    if any(one and PERCENT * one < total for one in mbps):
        lost.append(f"{name}: a path of less than 1 % gets weight 1, for FRR's weights are whole percents")
    return lost
