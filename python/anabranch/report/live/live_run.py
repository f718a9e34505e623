"""A run with a live page beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType

from anabranch._core import Progress, Scenario
from anabranch.report.live.feed import Feed
from anabranch.report.live.page import page
from anabranch.report.live.server import HTML, JSON, LiveServer
from anabranch.report.page.explore.fabric_shape import carriers
from anabranch.simulate.runs.results import Run
from anabranch.simulate.stats.size_classes import SizeClass

LAST_S = 15.0
"""Longest time to wait for pages to take the end."""


class LiveRun:
    """Page of one run, from before its start until every page that is open has its end."""

    def __init__(self, scenario: Scenario, port: int) -> None:
        """Begins to answer; `port` 0 is a free one.

        Raises:
            AnabranchError: the port is taken.

        """
        topology = json.loads(json.dumps(scenario.topology(), default=lambda array: array.tolist()))
        self._command = ["anabranch", *sys.argv[1:]]
        self._feed = Feed(scenario, carriers(topology))
        self._report: bytes | None = None
        first = page(scenario.name, topology, self._command).encode()
        self._server = LiveServer(
            {
                "/": lambda _: (HTML, first),
                "/feed.json": lambda query: (JSON, self._feed.answer(query)),
                "/report.html": self._report_for,
            },
            port,
        )

    @property
    def address(self) -> str:
        """Address of the page."""
        return self._server.address

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self._feed.stopped(str(error) or "it was stopped at the terminal")
            self._feed.await_pages(LAST_S)
        self._server.close()

    def watch(self, progress: Progress) -> None:
        """Takes the progress of the run; to be called several times a second."""
        self._feed.watch(progress)

    def end(self, run: Run, classes: Sequence[SizeClass]) -> None:
        """Tells pages that the run has ended, and gives its report to those that are open."""
        self._feed.drawing()
        watched = self._feed.is_watched()
        if watched:
            # What draws the report takes seconds to load, and the page's address must not wait for it.
            from anabranch.report.page.figures import draw
            from anabranch.report.page.material import gather
            from anabranch.report.page.runs import page as report_page

            material = gather([str(run.folder)])
            self._report = report_page(material, classes, list(draw(material, classes)), self._command).encode()
        self._feed.ended(run, watched)
        self._feed.await_pages(LAST_S)

    def _report_for(self, query: Mapping[str, str]) -> tuple[str, bytes] | None:
        if self._report is None:
            return None
        self._feed.handed(query.get("page", ""))
        return HTML, self._report
