"""Schemes compared: the datapath of each in the lab, and its routing in the simulator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scheme:
    """One way to use four paths."""

    name: str
    what: str
    datapath: str
    """One of `_core.KERNEL_SCHEMES`."""
    simulated: tuple[tuple[str, str], ...]
    """`[routing]` of the simulator."""
    weights: tuple[int, ...] = ()
    """Weights of the paths; all alike where there are none."""
    pause_ns: int = 0


def _routing(**keys: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"routing.{key.replace('__', '.')}", f'"{value}"') for key, value in keys.items())


IDLE_NS = 100_000_000
"""Silence after which a flow's own counter is forgotten; the simulator's default."""
SCHEMES = (
    Scheme("hash", "each flow on one path, by hash", "slots", _routing(balance="ecmp")),
    Scheme("rps", "each packet on a random path", "spray", _routing(balance="spray")),
    Scheme(
        "dbb-shared",
        "DBB, all packets between two edges in turn",
        "cycle",
        _routing(balance="dbb", scheme__counter="shared"),
    ),
    Scheme(
        "dbb-independent",
        "DBB, packets of each flow in turn",
        "flow_cycle",
        _routing(balance="dbb", scheme__counter="independent"),
        pause_ns=IDLE_NS,
    ),
)
ONE_PATH = Scheme("one path", "all packets on one path", "slots", (), weights=(1, 0, 0, 0))
