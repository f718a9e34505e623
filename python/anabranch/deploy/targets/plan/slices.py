"""Wino's microslices: what paths have left, cut into slices of equal bandwidth.

(Rehman et al., "Efficient Datacenter Load Balancing with Microslices", IFIP Networking 2025, section III-B.) A label of
a packet is a slice, a slice is a path and, where paths differ, a limit on its rate. Labels that a change ends stay for
a while, each an alias of a slice that there is; that is not in the paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from anabranch import _core
from anabranch.files.errors import AnabranchError

DSCP_BITS = 6
BURST_S = 0.02
"""Burst of a meter, as the time its rate takes for it. Open vSwitch refills meters once a millisecond: measured, bursts
of 1 to 2 ms fall 2 to 29 % short of their rates, those of 5 to 20 ms 0.1 %. Its own default: a second of traffic."""
FRAME_BYTES = 1518
PICKS: Sequence[str] = _core.slice_picks()


@dataclass(frozen=True)
class Cut:
    """How paths are cut into slices; rates in bits per second."""

    slice_min_bps: int = 7_000_000
    """Least slice; the paper's figure for errors of meters below 2 % over 15 ms (section III-D)."""
    slice_max_bps: int | None = None
    """Largest slice; None: as large as the common divisor."""
    quantum_bps: int | None = None
    """Unit to which remaining rates are rounded down; None: 10 Mbit/s, or 1 where a path has less than 1 Gbit/s."""
    label_bits: int = DSCP_BITS
    """Bits of the labels that hosts may use; label 0 is none."""
    pick: str = PICKS[0]
    """How the size is chosen where the common divisor does not decide; that of measured rates never does."""
    burst_s: float = BURST_S
    """Burst of the meters, which decides what they drop."""
    frame_bytes: int = FRAME_BYTES

    def __post_init__(self) -> None:
        if not 1 <= self.label_bits <= DSCP_BITS:
            raise AnabranchError(f"label_bits: {self.label_bits}: a DSCP field has 1 to {DSCP_BITS} bits for labels")
        for name, value in (("slice_min", self.slice_min_bps), ("slice_max", self.slice_max_bps)):
            if value is not None and value < 1000:
                raise AnabranchError(f"{name}: {value} bit/s: meters count in kbit/s; give 1000 bit/s or more")
        if self.slice_max_bps is not None and self.slice_max_bps < self.slice_min_bps:
            raise AnabranchError(
                f"slice_max: {self.slice_max_bps} bit/s: below slice_min = {self.slice_min_bps}; raise it"
            )

    def slices(self, residual: Sequence[tuple[int, bool]]) -> Slices | None:
        """Slices of paths, each with what it has left and whether that was measured; None where there are none.

        Raises:
            AnabranchError: limits that contradict each other.

        """
        cut = _core.cut_slices(
            list(residual),
            pick=self.pick,
            slice_min_bps=self.slice_min_bps,
            slice_max_bps=self.slice_max_bps,
            quantum_bps=self.quantum_bps,
            label_bits=self.label_bits,
            burst_ns=round(self.burst_s * 1e9),
            frame_bytes=self.frame_bytes,
        )
        if cut is None or not cut[1]:
            return None
        slice_bps, path_of, waste_bps, metered = cut
        return Slices(slice_bps, tuple(path_of), waste_bps, metered)


@dataclass(frozen=True)
class Slices:
    """The slices of one pair of leaves."""

    slice_bps: int
    path_of: tuple[int, ...]
    """The path of each, in the order in which hosts take them; the first has label 1."""
    waste_bps: int
    """Bandwidth that no slice covers."""
    metered: bool
    """Not where all paths are equal and each is one slice."""

    @property
    def labels(self) -> tuple[int, ...]:
        """Labels that hosts mark packets with, in turn."""
        return tuple(range(1, len(self.path_of) + 1))


@dataclass(frozen=True)
class Pair:
    """A pair of leaves and the path of each of its slices."""

    source: str
    """Leaves, by name."""
    destination: str
    source_prefixes: tuple[str, ...]
    destination_prefixes: tuple[str, ...]
    paths: tuple[tuple[tuple[str, int], ...], ...]
    """Switches of each path from the source leaf to the one before the destination, with the port to leave by."""
    slices: Slices
    labels_known: int = 0
    """Labels up to this may still arrive, from hosts that have not heard of the change that ended them."""

    @property
    def path_of_label(self) -> dict[int, int]:
        """Number of the slice, from 0, of every label that may arrive; those that ended share the slices that are."""
        known = max(len(self.slices.path_of), min(self.labels_known, (1 << DSCP_BITS) - 1))
        return {label: (label - 1) % len(self.slices.path_of) for label in range(1, known + 1)}


def published(pairs: Iterable[Pair], prefixes: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """The labels for hosts, as plain data for JSON: those towards each prefix, by the leaf that they are under.

    `prefixes` are those of every leaf. A leaf towards which there are no slices is left out: hosts do not mark.
    """
    towards: dict[str, dict[str, list[int]]] = {leaf: {} for leaf in prefixes}
    for pair in pairs:
        for prefix in pair.destination_prefixes:
            towards[pair.source][prefix] = list(pair.slices.labels)
    return {
        "format": 1,
        "leaves": {leaf: {"prefixes": list(prefixes[leaf]), "labels": towards[leaf]} for leaf in sorted(prefixes)},
    }
