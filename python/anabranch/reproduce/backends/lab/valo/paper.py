"""What the paper says (Yoo et al., SIGMETRICS 2025): Fig. 10 and section 5.2, Fig. 15 and section 5.4."""

from __future__ import annotations

MAPE_PCT = {
    ("hash", 2): 19.6,
    ("hash", 4): 43.0,
    ("hash", 8): 62.1,
    ("hash-gravity", 4): 2.3,
}
"""Mean error by recipe and number of paths. For VALO over 2 to 8 paths the paper gives one mean, 4.0 %."""

SCORING_PCT = {2: 16.6, 3: 33.4, 4: 44.2, 5: 52.0, 6: 58.0, 7: 62.7, 8: 66.5}
"""Ours, not the paper's: what theory expects of scoring over all weights from 1 to 100 (4,000 draws, +-0.1)."""

FCT_TIMES_IDEAL = {
    ("hash", "web-search"): "1.2 to 2.1",
    ("hash", "data-mining"): "1.2 to 2.1",
    ("hash-gravity", "web-search"): "1.149",
    ("hash-gravity", "data-mining"): "1.065 to 1.149",
}
"""Mean completion time over that of the ideal; for scoring, and VALO in data mining, the range over four workloads."""
