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
    doubt = ""
    if _is_doubtful(replay):
        share = f"{pct(100 * replay['carried'] / messages)} % were simulated, {pct(100 * replay['sample'])} % asked for"
        doubt = f"; {share}: beside replay these messages take other times, so compare with a run without it"
    return (
        f"{begun}; {count(replay['compared'])} that were known and simulated say how far off that is: "
        f"{_off(replay['mean_error'])} in the mean ({_off(min(errors))} to {_off(max(errors))} by sample), "
        f"{_off(replay['p99_error'])} in the 99th percentile{doubt}"
    )


def worst(replays: Mapping[str, Mapping[str, Any] | None]) -> str | None:
    """States by how much times of replayed messages are off at most among cells; None if no cell has `[replay]`.

    `replays`: what the core returns of each cell, by the words for it.
    """
    known = {cell: replay for cell, replay in replays.items() if replay is not None}
    if not known:
        return None
    replayed = {cell: replay for cell, replay in known.items() if replay["replayed"]}
    begun = f"{BEGINNING} in {count(len(replayed))} of {count(len(known))} cells messages were replayed"
    compared = {cell: replay for cell, replay in replayed.items() if replay["compared"]}
    if not compared:
        return f"{begun}; nothing says how far off that is" if replayed else begun

    def furthest(error: str) -> str:
        cell = max(compared, key=lambda cell: abs(compared[cell][error]))
        return f"{_off(compared[cell][error])} ({cell})"

    doubtful = [cell for cell, replay in compared.items() if _is_doubtful(replay)]
    unknown = len(replayed) - len(compared)
    return (
        f"{begun}; furthest off are {furthest('mean_error')} in the mean and {furthest('p99_error')} in the 99th "
        "percentile"
        + (f"; of {count(unknown)} nothing says how far off they are" if unknown else "")
        + (f"; compare {count(len(doubtful))} with runs without it, {doubtful[0]} for one" if doubtful else "")
    )


def _is_doubtful(replay: Mapping[str, Any]) -> bool:
    """Whether a run with replay should be compared with one without it."""
    simulated = replay["carried"] / (replay["replayed"] + replay["carried"])
    return bool(simulated > NOTABLE_SHARE * replay["sample"] or abs(replay["p99_error"]) > NOTABLE_ERROR)


def _off(error: float) -> str:
    return f"{'+' if error >= 0 else '-'}{pct(abs(100 * error))} %"
