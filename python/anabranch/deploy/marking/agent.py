"""Agent on a host: reads the controller's labels again and again, and marks packets accordingly."""

from __future__ import annotations

import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from anabranch.deploy.marking import nftables as marking
from anabranch.deploy.marking.nftables import Marks
from anabranch.files.errors import AnabranchError

ANSWER_MAX_BYTES = 4 << 20
TIMEOUT_S = 5


class Agent:
    """Marks packets of one host according to `source`, a URL or a file."""

    def __init__(
        self,
        source: str | Path,
        *,
        leaf: str | None = None,
        enter: Sequence[str] = (),
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._source = source
        self._leaf = leaf
        self._enter = list(enter)
        self._say = say
        self._read: bytes | None = None
        self.marks: Marks | None = None
        """What is installed; None before the first look that succeeded."""

    def look(self) -> bool:
        """Reads once; returns whether the labels changed, and so the kernel's table.

        Raises:
            AnabranchError: the source cannot be read or says nothing sensible, or nft refuses; what is installed stays.

        """
        answer = self._fetch()
        if answer == self._read:
            return False
        addresses = [] if self._leaf is not None else marking.own_addresses(enter=self._enter)
        try:
            text = answer.decode()
        except UnicodeDecodeError as error:
            raise AnabranchError(f"{self._source}: {error}; it must be JSON in UTF-8") from None
        marks = marking.marks_of(text, leaf=self._leaf, addresses=addresses)
        changed = marks != self.marks
        if changed:
            marking.install(marks, enter=self._enter)
            self.marks = marks
            self._say(
                "; ".join(f"{prefix}: {len(row)} labels" for prefix, row in marks.labels) or "no labels: no marks"
            )
        self._read = answer
        return changed

    def run(self, poll_s: float, devices: Sequence[str] = ()) -> None:
        """Reads every `poll_s` seconds until SIGTERM or SIGINT; removes its marks at the end, whatever happens.

        Raises:
            AnabranchError: a device that there is not, or no right to change it.

        """
        ended = threading.Event()

        def end(_signal: int, _frame: FrameType | None) -> None:
            ended.set()

        before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
        segments: dict[str, int] = {}
        trouble = ""
        try:
            for device in devices:
                segments[device] = marking.single_segments(device, enter=self._enter)
            while not ended.is_set():
                try:
                    self.look()
                    trouble = ""
                except AnabranchError as error:
                    # Said once, not at every look.
                    if str(error) != trouble:
                        trouble = str(error)
                        self._say(f"{trouble} (marks stay as they are)")
                ended.wait(poll_s)
        finally:
            for device, most in segments.items():
                marking.set_segments(device, most, enter=self._enter)
            marking.remove(enter=self._enter)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _fetch(self) -> bytes:
        """Current text of the source."""
        try:
            if isinstance(self._source, Path):
                return self._source.read_bytes()
            with urllib.request.urlopen(self._source, timeout=TIMEOUT_S) as answer:
                text: bytes = answer.read(ANSWER_MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            # URLError and sockets' errors are OSErrors; ValueError is a URL that is none.
            raise AnabranchError(f"{self._source}: {error}; is the controller there?") from None
        if len(text) > ANSWER_MAX_BYTES:
            raise AnabranchError(f"{self._source}: more than {ANSWER_MAX_BYTES} bytes; not a controller's slices.json")
        return text
