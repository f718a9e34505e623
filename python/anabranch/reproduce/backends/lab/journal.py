"""Journal of a lab's study: every run is kept as it ends, so that hours are measured in as many pieces as it takes.

    run --> RESULTS/runs.jsonl --> rows --> cells --> record/ (which takes the journal along) --> next piece, anywhere

A line has what was run, what came out and what the machine did meanwhile. A run that the machine disturbed is measured
again by the next piece, and is in no row until then.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError
from anabranch.lab.calibration import contention
from anabranch.lab.calibration.contention import LATE_MAX_MS, Contention
from anabranch.lab.calibration.processor_time import Meter, ProcessorTime
from anabranch.reproduce.backends.backend import Context
from anabranch.reproduce.records.record import Record

FILE, RECORDED = "runs.jsonl", "runs.jsonl.gz"
KEYS = ("study", "run", "date", "kernel", "quiet", "spent", "late_ms", "found")
"""Keys of a line."""


@dataclass
class Run:
    """One run under way: whoever measures sets what came out."""

    values: Any = None
    """Plain data: it is written as JSON."""
    late_ms: Sequence[float] = ()
    """Lateness of its senders at 1 % of their starts or writes."""


@dataclass
class Journal:
    """Runs of a study that have been measured."""

    file: Path
    study: str
    """Hash of the study; see `record.identity`. Runs of another are not taken."""
    late_max_ms: float = LATE_MAX_MS
    counted: bool = False
    """Whether runs count packets, all of which arrived: a busy machine cannot disturb them."""
    busy_too: bool = False
    """Whether runs that the machine disturbed are taken too."""
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Lines of the file by the key of the run."""
    others: list[str] = field(default_factory=list)
    """Lines of the file with runs of another study, as one whose settings were changed: they are kept as they are."""

    def begin(self, record: Record | None, *, anew: bool) -> None:
        """Takes the runs of a record and of the file, unless all are to be measured `anew`, and writes the file.

        Raises:
            AnabranchError: a file cannot be read or written.

        """
        if record is not None and (record.folder / RECORDED).is_file():
            with record.reading():
                self._take(gzip.decompress((record.folder / RECORDED).read_bytes()).decode(), record.folder)
            self.others.clear()
        if not anew and self.file.is_file():
            self._take(self.file.read_text(encoding="utf-8"), self.file)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.file, "".join([*self.others, *map(_line, self.entries.values())]))

    def __contains__(self, key: str) -> bool:
        """Whether a run has been measured, and counts."""
        return key in self.entries and self._counts(self.entries[key])

    def __getitem__(self, key: str) -> Any:
        """What a run has found."""
        return self.entries[key]["found"]

    def has_any(self) -> bool:
        """Whether it has a run that counts."""
        return any(map(self._counts, self.entries.values()))

    def lacks(self, keys: Iterable[str]) -> list[str]:
        """Those of these runs that are still to be measured."""
        return [key for key in keys if key not in self]

    def disturbed(self, keys: Iterable[str]) -> list[str]:
        """Those of these runs that were measured while the machine disturbed them, and do not count."""
        return [key for key in keys if key in self.entries and key not in self]

    @contextmanager
    def running(self, key: str, *marks: str) -> Iterator[Run]:
        """Measures while a run is under way in labs whose processes have these marks, and keeps it."""
        meter, run = Meter(load_before=None), Run()
        with meter.running(*marks):
            yield run
        meter.late_ms += run.late_ms
        entry = {
            "study": self.study,
            "run": key,
            "date": date.today().isoformat(),
            "kernel": os.uname().release,
            "quiet": self.counted or contention.judge(meter, late_max_ms=self.late_max_ms).usable,
            "spent": asdict(meter.spent),
            "late_ms": list(meter.late_ms),
            "found": run.values,
        }
        self.entries[key] = entry
        with self.file.open("a", encoding="utf-8") as file:
            file.write(_line(entry))

    def machine(self, keys: Iterable[str]) -> Contention | None:
        """Verdict on the machine over those of these runs that it disturbed, or over all if it disturbed none."""
        meter = Meter(load_before=None)
        known = [key for key in keys if key in self.entries]
        if not known:
            return None
        for entry in map(self.entries.__getitem__, self.disturbed(known) or known):
            meter.spent += ProcessorTime(**entry["spent"])
            meter.late_ms += entry["late_ms"]
        return contention.judge(meter, late_max_ms=self.late_max_ms)

    def parts(self) -> Mapping[str, bytes]:
        """The journal as a part of a record."""
        text = "".join(_line(entry) for entry in self.entries.values() if self._counts(entry))
        return {RECORDED: gzip.compress(text.encode(), mtime=0)}

    def _counts(self, entry: Mapping[str, Any]) -> bool:
        return self.busy_too or bool(entry["quiet"])

    def _take(self, text: str, origin: Path) -> None:
        lines = text.splitlines()
        for number, line in enumerate(lines, start=1):
            entry = _entry(line)
            if entry is None:
                # The line that a killed command was writing is the last one, and lacks its end.
                if number < len(lines):
                    raise AnabranchError(f"{origin}:{number}: is no run of a study; hint: remove the line")
            elif entry["study"] == self.study:
                self.entries[entry["run"]] = entry
            else:
                self.others.append(_line(entry))


def _entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and set(KEYS) <= set(entry) else None


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":")) + "\n"


def to_run(name: str, missing: Sequence[object], keys: Sequence[object], seconds: float) -> str:
    """Announcement of the runs of a study that are to be measured."""
    whole = f"{len(keys)} runs" if len(missing) == len(keys) else f"{len(missing)} of {len(keys)} runs"
    return f"{name}: {whole} over real TCP, about {-(-seconds // 60):.0f} minutes"


def still_missing(name: str, journal: Journal, keys: Sequence[str]) -> str:
    """What is said at the end of a piece; empty if all runs are there."""
    missing = journal.lacks(keys)
    if not missing:
        return ""
    busy = len(journal.disturbed(keys))
    disturbed = f", {busy} of them because the machine disturbed them" if busy else ""
    return f"{name}: {len(missing)} of {len(keys)} runs are missing{disturbed}; the same command goes on"


def time_is_up(context: Context) -> bool:
    """Whether no further run is to begin."""
    return time.monotonic() >= context.ends_at
