"""Messages that were replayed instead of simulated, and how far off that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.files.units import count, pct

BEGINNING = "replay:"
"""Beginning of the sentence."""
NOTABLE_ERROR = 0.02
"""Error of the 99th percentile that says more of a job's end than of a message."""
NOTABLE_SHARE = 3.0
"""Messages that were simulated over those that were asked for: then what was learned did not hold for long."""


def sentence(replay: Mapping[str, Any] | None) -> str | None:
    """States how many messages were replayed, and by how much their times are off; None without `[replay]`.

    `replay`: what the core returns of a run: numbers of messages, and errors as parts of the durations.
    """
    if replay is None:
        return None
    messages = replay["replayed"] + replay["carried"]
    if not replay["replayed"]:
        return (
            f"{BEGINNING} none of {count(messages)} messages was replayed: too few repeat, or take about as long as "
            "others like them (`replay.band`); all packets were simulated"
        )
    share = f"{count(replay['replayed'])} of {count(messages)}"
    begun = f"{BEGINNING} {share} messages took what others like them had taken"
    if not replay["compared"]:
        return f"{begun}; none that was known was simulated beside them, so nothing says how far off that is"
    errors = replay["mean_errors"]
    simulated = replay["carried"] / messages
    doubt = ""
    if simulated > NOTABLE_SHARE * replay["sample"] or abs(replay["p99_error"]) > NOTABLE_ERROR:
        share = f"{pct(100 * simulated)} % were simulated, {pct(100 * replay['sample'])} % asked for"
        doubt = f"; {share}: beside replay these messages take other times, so compare with a run without it"
    return (
        f"{begun}; {count(replay['compared'])} that were known and simulated say how far off that is: "
        f"{_off(replay['mean_error'])} in the mean ({_off(min(errors))} to {_off(max(errors))} by sample), "
        f"{_off(replay['p99_error'])} in the 99th percentile{doubt}"
    )


def _off(error: float) -> str:
    return f"{'+' if error >= 0 else '-'}{pct(abs(100 * error))} %"
