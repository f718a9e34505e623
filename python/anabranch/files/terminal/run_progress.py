"""Progress of a simulation."""

from __future__ import annotations

from typing import Protocol

from anabranch.files.terminal.bar import Bar
from anabranch.files.units import count

PARTS = 1000
"""Steps of the bar; simulated time is a float."""


class Watched(Protocol):
    """Progress of a run, in this process or another one."""

    @property
    def simulated_s(self) -> float:
        """Simulated time so far, in seconds."""

    @property
    def end_s(self) -> float:
        """End of the simulation, in seconds; 0 before it is known."""

    @property
    def packet_hops(self) -> int:
        """Packets that have passed a port."""

    @property
    def flows_finished(self) -> int:
        """Flows that have ended."""

    @property
    def flows_total(self) -> int:
        """All flows; 0 before they are known."""


class RunProgress(Bar):
    """Percent of simulated time, packet-hops a second, flows done, time left."""

    def __init__(self, name: str, quiet: bool) -> None:
        super().__init__(name, PARTS, quiet)

    def __call__(self, progress: Watched) -> None:
        """Draws the progress of the run."""
        hops_per_s = progress.packet_hops / max(self.seconds, 1e-9)
        flows = f"{count(progress.flows_finished)} of {count(progress.flows_total)} flows"
        self.draw(PARTS * fraction(progress), f"{hops_per_s / 1e6:.1f} M packet-hops/s, {flows}")


def fraction(progress: Watched) -> float:
    """Progress of a run, 0 to 1.

    By simulated time or by flows, whichever is further: a run ends at its last flow or at its end.
    """
    by_time = progress.simulated_s / progress.end_s if progress.end_s > 0 else 0.0
    by_flows = progress.flows_finished / progress.flows_total if progress.flows_total else 0.0
    return min(1.0, max(by_time, by_flows))
