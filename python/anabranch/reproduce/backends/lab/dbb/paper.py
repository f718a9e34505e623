"""What the paper says (Wu et al., section IV): aggregate goodput, in Gb/s, of four links of 10 Gb/s a stage."""

from __future__ import annotations

LINK_GBPS = 10.0
GOODPUT_GBPS = {
    "A half": (15.94, 20.00, 20.00),
    "A full": (15.77, 36.63, 37.03),
    "B 40": (18.87, 37.48, 37.57),
    "B 400": (18.93, 37.50, 37.55),
    "C 40": (18.84, 37.50, 37.54),
    "C 400": (19.07, 37.62, 37.67),
    "D 40": (18.40, 36.51, 36.46),
    "D 400": (18.40, 36.61, 36.73),
}
"""By case: RPS, DBB with shared counters, DBB with independent counters. Hashing of flows it does not try."""
ORDER = ("rps", "dbb-shared", "dbb-independent")
TOLERANCE = 0.05
"""Of the stage's capacity, within which goodputs agree: 2 Gb/s of the paper's 40."""


def goodput_mbps(case: str, scheme: str, link_bps: float) -> float | None:
    """The paper's, as it would be on links of this rate; None where there is none."""
    if case not in GOODPUT_GBPS or scheme not in ORDER:
        return None
    return GOODPUT_GBPS[case][ORDER.index(scheme)] * link_bps / (LINK_GBPS * 1e6)
