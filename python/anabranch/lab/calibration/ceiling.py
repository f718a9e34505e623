"""Measured ceiling of a machine's switches; loads beyond it say more about the machine than about the fabric."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.units import bit_rate

FILE = "ceiling.json"
HEADROOM = 0.8
"""Share of the ceiling that a load may take: queues before a processor that is always busy are not the scenario's."""


@dataclass(frozen=True)
class PathCeiling:
    """Ceiling of a number of switches, one after the other, with nothing else in the fabric."""

    switches: int
    small_pps: float
    """Frames of 60 bytes, with less than 1% lost."""
    full_pps: float
    """Frames of 1514 bytes, with less than 1% lost."""
    tcp_bps: float
    """Payload of TCP."""
    switch_cpu_ns: float | None
    """Processor time of the process that forwards, per frame of 1514 bytes and switch; None where there is none."""


@dataclass(frozen=True)
class Ceiling:
    """Ceiling of what a machine can forward in a lab."""

    paths: tuple[PathCeiling, ...]
    """Ceilings by number of switches, ascending from 1."""
    tso: bool
    """Whether segments pass switches whole."""
    cores: int
    load_before: float
    """Processes that wanted a processor in the minute before (getloadavg(3)): of others, so 0 on a quiet machine."""
    kernel: str
    switch: str
    """Switch software that forwards, and its version."""
    measured_at: str
    """ISO 8601, UTC."""

    def tcp_bps(self, switches: float) -> float:
        """Rate of TCP over all paths together, of `switches` switches on average: one thread forwards for all."""
        # A bit takes a constant time at its ends, and about the same at each switch.
        slowness = [(path.switches, 1 / path.tcp_bps) for path in self.paths]
        (low, before), (high, after) = next(
            (pair for pair in pairwise(slowness) if switches <= pair[1][0]), slowness[-2:]
        )
        # Noise may make more switches look faster: they count as equally fast.
        slope = max(0.0, (after - before) / (high - low))
        return 1 / max(before + slope * (switches - low), min(slow for _, slow in slowness))

    def check(self, offered_bps: float, switches: float) -> None:
        """Refuses a load that this machine cannot carry.

        Args:
            offered_bps: Payload, all hosts together.
            switches: That a packet passes, on average.

        Raises:
            AnabranchError: it is beyond what may be asked.

        """
        room = HEADROOM * self.tcp_bps(switches)
        if offered_bps > room:
            limit = f"{bit_rate(room)}, {HEADROOM:.0%} of what it forwards"
            raise AnabranchError(
                f"load: {bit_rate(offered_bps)} over {switches:.3g} switches: above this machine's ceiling ({limit}); "
                f"make the lab anew, its --scale times {room / offered_bps:.2g}"
            )


def document(ceiling: Ceiling) -> dict[str, Any]:
    """The ceiling as plain data, with the share of it that a load may take."""
    return {**asdict(ceiling), "headroom": HEADROOM}


def write(ceiling: Ceiling, folder: Path) -> None:
    """Keeps it with a lab."""
    write_whole(folder / FILE, json.dumps(asdict(ceiling), indent=1))


def read(folder: Path) -> Ceiling | None:
    """Reads the ceiling that was kept with a lab; None where it was not measured.

    Raises:
        AnabranchError: it is not a ceiling.

    """
    try:
        values = json.loads((folder / FILE).read_text())
        return Ceiling(**values | {"paths": tuple(PathCeiling(**path) for path in values["paths"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise AnabranchError(f"{folder / FILE}: not a ceiling ({error}); calibrate again") from None
