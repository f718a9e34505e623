"""Two processes `anabranch control` of one fabric, each of which may be killed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from support.controller_process import ControllerProcess, controller
from support.dummy_bridges import DummyBridges
from support.reserved_port import reserved_port
from support.waiting import wait

SETTINGS = '[damping]\nuse = false\n[redundancy]\nuse = true\ntakeover = "{takeover}"'


class ControllerPair:
    """Two controllers on the same switches, with a page and a log each."""

    def __init__(self, controllers: list[ControllerProcess], fabric: DummyBridges) -> None:
        self.controllers, self._fabric = controllers, fabric

    def primary(self) -> ControllerProcess:
        """The one that may change all bridges and has them at the plan of the links as they are, while the other waits.

        It is waited for.
        """
        primaries: list[ControllerProcess] = []

        def agreed() -> bool:
            health = {one: one.get("/healthz") for one in self.controllers}
            states = sorted(((answer or {}).get("role", ""), status) for status, answer in health.values())
            primaries[:] = [one for one, (_, answer) in health.items() if answer and answer["role"] == "primary"]
            return states == [("primary", 200), ("secondary", 200)] and self._fabric.is_as_in(primaries[0].status())

        wait(agreed, self.story)
        return primaries[0]

    def other(self, one: ControllerProcess) -> ControllerProcess:
        """The other of the two."""
        (other,) = (each for each in self.controllers if each is not one)
        return other

    def story(self) -> str:
        """What each says of itself, for a failure."""
        return "\n".join(f"{one.get('/healthz')}\n{one.log.read_text()[-3000:]}" for one in self.controllers)


@contextmanager
def controller_pair(folder: Path, fabric: DummyBridges, takeover: str = "1 s") -> Iterator[ControllerPair]:
    """Runs both, and ends them."""
    databases = dict.fromkeys(fabric.bridges, fabric.open_vswitch.database)
    with ExitStack() as stack:
        started = []
        for name in ("one", "two"):
            port = stack.enter_context(reserved_port())
            file = folder / f"{name}.toml"
            settings = SETTINGS.format(takeover=takeover)
            file.write_text(fabric.fabric_toml(http=f"127.0.0.1:{port}", databases=databases, more=settings))
            started.append(stack.enter_context(controller(file, port)))
        yield ControllerPair(started, fabric)


def moment(event: Mapping[str, Any]) -> float:
    """Unix time of an event, to the millisecond."""
    return datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()


def taken_over_s(process: ControllerProcess, bridges: list[str], since_s: float) -> float:
    """Time from a moment until a process was the primary of all bridges, which is waited for."""
    found: dict[str, float] = {}

    def all_taken() -> bool:
        found.update(
            (event["switch"], moment(event))
            for event in process.events()
            if event["event"] == "primary" and moment(event) >= since_s - 0.001
        )
        return found.keys() >= set(bridges)

    wait(all_taken, lambda: f"{time.time() - since_s:.1f} s: {process.log.read_text()[-3000:]}")
    return max(found.values()) - since_s


def changes_without_role(process: ControllerProcess) -> list[str]:
    """Changes that a process says it made of a bridge while it was not the bridge's primary."""
    led: set[str] = set()
    wrong = []
    for event in process.events():
        match event["event"]:
            case "started" | "stopped":
                led.clear()
            case "primary":
                led.add(event["switch"])
            case "secondary" | "lost":
                led.discard(event["switch"])
            case "committed" if event["switch"] not in led:
                wrong.append(str(event))
    return wrong
