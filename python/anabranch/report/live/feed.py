"""What a live page is told: the state of the run, its numbers, and the intervals that the page lacks."""

from __future__ import annotations

import json
import secrets
import time
from collections import deque
from collections.abc import Mapping
from threading import Condition
from typing import Any, Literal

import polars as pl

from anabranch._core import Progress, Scenario
from anabranch.files.terminal.run_progress import fraction
from anabranch.report.live.intervals import Intervals
from anabranch.report.page.explore.fabric_shape import Carrier
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.lazily import collected

State = Literal["preparing", "running", "drawing", "ended", "stopped"]

TAKEN_EVERY_S = 0.5
"""Time between two looks at the intervals that have ended."""
SPEED_OVER_S = 30.0
"""Time over which speed is measured, for the time left."""
WAIT_S = 2.0
"""Longest time for which an answer waits for news.

Browsers slow the timers of hidden pages down to one a minute, but not answers; and they open few connections to one
server, so that many tabs must not hold them for long.
"""
SEEN_S = 4.0
"""Time after its last question for which a page counts as open."""
SECOND_NS = 1e9


class Feed:
    """State of a run, written by the thread that watches it and read by those that answer pages."""

    def __init__(self, scenario: Scenario, carriers: list[Carrier]) -> None:
        self._scenario = scenario
        self._intervals = Intervals(carriers)
        self._run = secrets.token_hex(8)
        self._state: State = "preparing"
        self._numbers: dict[str, Any] = {}
        self._end: dict[str, Any] | None = None
        self._version = 0
        self._news = Condition()
        self._began = time.monotonic()
        self._elapsed_s: float | None = None
        """Seconds from the start to the end, once it is over."""
        self._taken = -TAKEN_EVERY_S
        self._speed: deque[tuple[float, float, int]] = deque()
        self._pages: dict[str, float] = {}
        """When each page asked last."""
        self._served: set[str] = set()
        """Pages that have the end: the report, or the word that there is none."""

    def watch(self, progress: Progress) -> None:
        """Takes what has ended since the last look; to be called several times a second while the run lasts."""
        now = time.monotonic()
        if now - self._taken < TAKEN_EVERY_S:
            return
        self._taken = now
        ports = pl.DataFrame(self._scenario.take_ports(progress))
        numbers = self._numbers_of(progress, now)
        with self._news:
            self._intervals.add(ports)
            self._numbers = numbers
            self._state = "running" if progress.flows_total else "preparing"
            self._notify()

    def drawing(self) -> None:
        """Says that the results are written and the report is being drawn."""
        with self._news:
            self._state = "drawing"
            self._notify()

    def stopped(self, reason: str) -> None:
        """Says that the run has no results."""
        with self._news:
            self._state = "stopped"
            self._end = {"reason": reason}
            self._notify()

    def ended(self, run: Run, report: bool) -> None:
        """Says that the results are there, and whether `/report.html` is."""
        ports, manifest = run.ports, run.manifest
        total, unfinished = int(manifest["flows_total"]), int(manifest["flows_unfinished"])
        with self._news:
            self._intervals.replace(ports)
            self._state = "ended"
            self._numbers = {
                "simulated_ns": float(manifest["end_ns"]),
                "end_ns": self._numbers.get("end_ns", 0.0),
                "flows_begun": collected(run.scanned_flows.select(pl.col("start_ns").count())).item(),
                "flows_finished": total - unfinished,
                "flows_total": total,
                "packet_hops": int(manifest["packet_hops"]),
                "hops_per_s": int(manifest["packet_hops"]) / max(float(manifest["wall_s"]), 1e-9),
                "fraction": 1.0,
                "left_s": 0.0,
            }
            self._end = {"folder": str(run.folder), "report": report}
            self._elapsed_s = time.monotonic() - self._began
            self._notify()

    def answer(self, query: Mapping[str, str]) -> bytes:
        """Document for a page: `page` its name, `version` what it knows, `epoch` and `from` which intervals it has.

        Waits up to `WAIT_S` for news. A page that has other intervals, or none, gets all of them.
        """
        page, known = query.get("page", ""), query.get("version", "")
        with self._news:
            self._seen(page)
            self._news.wait_for(lambda: f"{self._run}-{self._version}" != known, WAIT_S)
            self._seen(page)
            if self._end is not None and not self._end.get("report"):
                self._serve(page)
            times, epoch = self._intervals.times, f"{self._run}-{self._intervals.epoch}"
            start = query.get("from", "")
            first = min(int(start), len(times)) if query.get("epoch") == epoch and start.isdecimal() else 0
            document = {
                "run": self._run,
                "version": f"{self._run}-{self._version}",
                "state": self._state,
                "elapsed_s": self._elapsed_s or time.monotonic() - self._began,
                **self._numbers,
                "end": self._end,
                "epoch": epoch,
                "from": first,
                "times": times[first:].packed(self._intervals.joined),
            }
        return json.dumps(document, allow_nan=False).encode()

    def handed(self, page: str) -> None:
        """Notes that a page has the report."""
        with self._news:
            self._serve(page)

    def is_watched(self) -> bool:
        """Whether a page is open."""
        with self._news:
            return bool(self._open())

    def await_pages(self, seconds: float) -> None:
        """Waits until every open page has the end, at most so long."""
        with self._news:
            until = time.monotonic() + seconds
            while not self._open() <= self._served and time.monotonic() < until:
                # A page that is closed falls silent without a word.
                self._news.wait(TAKEN_EVERY_S)

    def _open(self) -> set[str]:
        now = time.monotonic()
        return {page for page, seen in self._pages.items() if now - seen < SEEN_S}

    def _seen(self, page: str) -> None:
        now = time.monotonic()
        self._pages = {name: seen for name, seen in self._pages.items() if now - seen < SEEN_S}
        if page:
            self._pages[page] = now

    def _serve(self, page: str) -> None:
        self._served.add(page)
        self._news.notify_all()

    def _notify(self) -> None:
        self._version += 1
        self._news.notify_all()

    def _numbers_of(self, progress: Progress, now: float) -> dict[str, Any]:
        """Numbers of a run; the time left is `None` before it can be told."""
        part, hops = fraction(progress), progress.packet_hops
        self._speed.append((now, part, hops))
        while now - self._speed[0][0] > SPEED_OVER_S:
            self._speed.popleft()
        then, part_then, hops_then = self._speed[0]
        passed, gained = now - then, part - part_then
        return {
            "simulated_ns": progress.simulated_s * SECOND_NS,
            "end_ns": progress.end_s * SECOND_NS,
            "flows_begun": progress.flows_begun,
            "flows_finished": progress.flows_finished,
            "flows_total": progress.flows_total,
            "packet_hops": hops,
            "hops_per_s": (hops - hops_then) / passed if passed > 0 else None,
            "fraction": part,
            "left_s": passed * (1 - part) / gained if gained > 0 else None,
        }
