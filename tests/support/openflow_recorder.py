"""A wire tap: passes OpenFlow on to a real switch, both ways, and keeps the messages."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from anabranch.deploy.openflow.framing import Frames, Message


class Heard(NamedTuple):
    """A message but for its number."""

    kind: int
    body: bytes


class Recorder:
    """Listens at `address` while it is entered, for one connection after the other."""

    def __init__(self, path: Path, switch: str) -> None:
        self.address = f"unix:{path}"
        self._path = path
        self._switch = switch.removeprefix("unix:")
        self._listening = socket.socket(socket.AF_UNIX)
        self._messages: tuple[list[Message], list[Message]] = ([], [])
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Recorder:
        self._listening.bind(str(self._path))
        self._listening.listen()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        self._path.unlink()

    def take(self, *kinds: int) -> list[Heard]:
        """Messages of some kinds that the controllers have sent since the last call, without numbers of requests."""
        taken = [Heard(one.kind, one.body) for one in self._messages[0] if one.kind in kinds]
        self._messages[0].clear()
        return taken

    def _serve(self) -> None:
        while True:
            try:
                controller, _ = self._listening.accept()
            except OSError:
                return
            with controller, socket.socket(socket.AF_UNIX) as switch:
                # Open vSwitch hangs up after a second without a greeting, so it is called when there is one.
                greeting = controller.recv(1 << 16)
                switch.connect(self._switch)
                switch.sendall(greeting)
                frames = Frames()
                self._messages[0].extend(frames.feed(greeting))
                ways = (
                    (controller, switch, frames, self._messages[0]),
                    (switch, controller, Frames(), self._messages[1]),
                )
                threads = [threading.Thread(target=_pump, args=way, daemon=True) for way in ways]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()


def _pump(source: socket.socket, sink: socket.socket, frames: Frames, messages: list[Message]) -> None:
    with contextlib.suppress(OSError):  # Either side may go first.
        while data := source.recv(1 << 16):
            messages.extend(frames.feed(data))
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
