"""Which pages there are, and what stands on them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from anabranch.deploy.control.event import Events
from anabranch.deploy.control.log import Event
from anabranch.deploy.control.pages import status
from anabranch.deploy.control.pages.health import reasons
from anabranch.deploy.control.pages.metrics import CONTENT_TYPE, Metrics
from anabranch.deploy.control.pages.server import Answer, Pages
from anabranch.deploy.control.state import Snapshot

JSON = "application/json; charset=utf-8"


class Site:
    """`/`, `/status.json`, `/healthz`, `/metrics`, `/slices.json`.

    Reads snapshots and events only; `last` is the events to show, the oldest first; `labels` is what hosts are to mark
    packets with, if the policy has them do so.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        events: Events,
        last: Callable[[], Sequence[Event]],
        labels: Callable[[], Mapping[str, object] | None] = lambda: None,
    ) -> None:
        self._snapshot = snapshot
        self._events = events
        self._last = last
        self._labels = labels
        self._metrics = Metrics(snapshot)
        self._pages = Pages(
            {
                "/": self._status,
                "/page.css": lambda: (200, "text/css; charset=utf-8", status.style()),
                "/status.json": lambda: (200, JSON, status.as_json(snapshot()).encode()),
                "/healthz": self._health,
                "/slices.json": self._slices,
                "/metrics": lambda: (200, CONTENT_TYPE, self._metrics.text()),
            }
        )
        self._watch: asyncio.Task[None] | None = None

    async def start(self, address: str) -> None:
        """Counts from now on, and listens on `host:port`.

        Raises:
            AnabranchError: no such address, or it is taken.

        """
        await self._pages.start(address)
        self._events.listeners.append(self._metrics.listen)
        self._watch = asyncio.create_task(self._metrics.watch_loop())

    @property
    def address(self) -> tuple[str, int]:
        """Address at which it listens."""
        return self._pages.address

    async def close(self) -> None:
        """Ends it."""
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
            self._events.listeners.remove(self._metrics.listen)
        await self._pages.close()

    def _status(self) -> Answer:
        return 200, "text/html; charset=utf-8", status.page(self._snapshot(), list(self._last())).encode()

    def _health(self) -> Answer:
        snapshot = self._snapshot()
        health = {"converged": snapshot.converged, "role": snapshot.role, "reasons": reasons(snapshot)}
        return 200 if snapshot.converged or snapshot.stands_by else 503, JSON, f"{json.dumps(health)}\n".encode()

    def _slices(self) -> Answer:
        labels = self._labels()
        if labels is None:
            return 404, JSON, b'{"error": "this policy has no slices; wino has"}\n'
        return 200, JSON, f"{json.dumps(labels)}\n".encode()
