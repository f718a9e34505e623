"""Broken and malicious switches, databases and strangers beside good ones: the good ones are served on."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from anabranch.control import session
from anabranch.control.controller import Controller
from anabranch.control.event import Events
from anabranch.control.file import parse
from anabranch.control.state import SwitchState
from anabranch.lab.fabric.open_vswitch import SWITCH
from anabranch.openflow import channel
from certificates import free_port
from dummy_bridges import DummyBridges, dummy_bridges
from hostile_switch import HOSTILE, FairSwitch, Talk, noise, said, served, silent

Result = TypeVar("Result")
DEADLINE_S = 30.0
HELD_S = 1.0
"""What the loop may stand still at worst; on a machine of its own it is milliseconds."""
GOOD = ("leaf0", "leaf1", "spine0", "spine1")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("anabranch.control")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is found out sooner than a user would want."""
    monkeypatch.setattr(session, "TIMEOUT_S", 1.0)
    monkeypatch.setattr(channel, "WHOLE_ANSWER_S", 1.5)


def fabric_of(folder: Path, spines: int = 2) -> AbstractContextManager[DummyBridges]:
    return dummy_bridges(folder, leaves=2, spines=spines)


@asynccontextmanager
async def running(text: str, events: Events | None = None) -> AsyncIterator[Controller]:
    controller = Controller(parse(text, "fabric.toml"), events)
    task = asyncio.create_task(controller.run())
    try:
        yield controller
    finally:
        assert not task.done(), task
        controller.stop()
        await asyncio.wait_for(task, DEADLINE_S)


def run(tried: Coroutine[Any, Any, Result]) -> Result:
    """Runs one, and waits until all that it began has ended, the other ends of its connections too."""

    async def ran() -> Result:
        result = await tried
        await asyncio.wait_for(others_end(), DEADLINE_S)
        return result

    async def others_end() -> None:
        loop: Any = asyncio.get_running_loop()
        # Beside this one and its waiter no task, and no file but that by which the loop is woken.
        while len(asyncio.all_tasks()) > 2 or len(loop._selector.get_map()) > 1:
            await asyncio.sleep(0.01)
        for _ in range(5):
            await asyncio.sleep(0)

    return asyncio.run(ran())


async def until(true: Callable[[], bool]) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + DEADLINE_S
    while not true():
        assert loop.time() < deadline
        await asyncio.sleep(0.01)


def switch(controller: Controller, name: str) -> SwitchState:
    (found,) = (one for one in controller.snapshot().switches if one.name == name)
    return found


def as_planned(controller: Controller, name: str) -> bool:
    found = switch(controller, name)
    return found.connected and not found.differences and found.commits > 0


async def loop_held(watched: Awaitable[None]) -> float:
    """How long the loop stood still at worst while something ran, in seconds."""
    worst, loop = 0.0, asyncio.get_running_loop()
    task = asyncio.ensure_future(watched)
    while not task.done():
        due = loop.time() + 0.005
        await asyncio.sleep(0.005)
        worst = max(worst, loop.time() - due)
    await task
    return worst


async def flap(controller: Controller, fabric: DummyBridges, times: int) -> None:
    """A link of the good comes and goes; every time both of its leaf's neighbours are told."""
    for number in range(times):
        commits = switch(controller, "leaf0").commits
        await asyncio.to_thread(fabric.set_port, "leaf0-spine0", bool(number % 2))
        await until(lambda commits=commits: switch(controller, "leaf0").commits > commits)  # type: ignore[misc]
        await until(lambda: as_planned(controller, "leaf0"))


UNDAMPED = "[damping]\nuse = false\n[measure]\naudit = '200 ms'\ninterval = '100 ms'"


def test_hostile_switches_hold_nobody_up(tmp_path: Path) -> None:
    # Real bridges stand behind all names; the hostile take the places of spines from 2 on.
    with fabric_of(tmp_path, spines=2 + len(HOSTILE)) as fabric:
        spines = {f"spine{number}": talk for number, talk in enumerate(HOSTILE.values(), 2)}
        addresses = {name: f"unix:{tmp_path}/{name}.hostile" for name in spines}

        async def tried() -> tuple[list[SwitchState], list[SwitchState]]:
            async with AsyncExitStack() as stack:
                for name, talk in spines.items():
                    if isinstance(talk, FairSwitch):
                        talk.datapath_id, talk.ports = fabric.datapath_id(name), tuple(fabric.ports()[name].values())
                    await serve_at(stack, addresses[name].removeprefix("unix:"), talk)
                async with running(fabric.fabric_toml(openflow=addresses, more=UNDAMPED)) as controller:
                    await until(lambda: all(as_planned(controller, name) for name in GOOD))
                    assert await loop_held(flap(controller, fabric, 10)) < HELD_S
                    # Within some audits it has been seen what they do not keep.
                    await asyncio.sleep(1)
                    before = [switch(controller, name) for name in spines]
                    await asyncio.sleep(1)
                    after = [switch(controller, name) for name in spines]
                    assert await loop_held(flap(controller, fabric, 4)) < HELD_S
                    return before, after

        before, after = (dict(zip(HOSTILE, states, strict=True)) for states in run(tried()))
    for sort, state in after.items():
        if sort not in ("echoes", "port changes"):
            assert state.last_error, sort
    # What was answered wrongly is not tried again and again.
    for sort in ("refusing", "forgetful"):
        assert after[sort].refused
        assert after[sort].commits == before[sort].commits
    assert after["refusing"].commits == 0


def test_strangers_that_come_hold_nobody_up(tmp_path: Path) -> None:
    port = free_port()
    with fabric_of(tmp_path) as fabric:

        async def tried() -> int:
            text = fabric.fabric_toml(openflow={"leaf0": ""}, listen=f"tcp:127.0.0.1:{port}", more=UNDAMPED)
            events = Events()
            async with AsyncExitStack() as stack, running(text, events) as controller:
                for talk in HOSTILE.values():
                    come(stack, port, talk)
                for _ in range(400):
                    come(stack, port, silent)
                await asyncio.sleep(0.5)
                fabric.open_vswitch.vsctl("set-controller", "leaf0", f"tcp:127.0.0.1:{port}")
                await until(lambda: all(as_planned(controller, name) for name in GOOD))
                assert await loop_held(flap(controller, fabric, 6)) < HELD_S
                return events.counts["stranger"]

        assert run(tried()) > 0


def test_whoever_says_it_is_another_does_not_take_its_place(tmp_path: Path) -> None:
    port = free_port()
    with fabric_of(tmp_path) as fabric:

        async def tried() -> None:
            text = fabric.fabric_toml(openflow={"leaf0": ""}, listen=f"tcp:127.0.0.1:{port}", more=UNDAMPED)
            async with AsyncExitStack() as stack, running(text) as controller:
                fabric.open_vswitch.vsctl("set-controller", "leaf0", f"tcp:127.0.0.1:{port}")
                await until(lambda: all(as_planned(controller, name) for name in GOOD))
                liar = FairSwitch()
                liar.datapath_id = fabric.datapath_id("leaf0")
                for _ in range(10):
                    come(stack, port, liar)
                await asyncio.sleep(0.3)
                await flap(controller, fabric, 4)
                assert switch(controller, "leaf0").connects == 1
                # A process that no longer answers gives its place to the one that comes back.
                process = fabric.open_vswitch.pid(SWITCH)
                assert process is not None
                os.kill(process, signal.SIGSTOP)
                try:
                    come(stack, port, liar)
                    await until(lambda: switch(controller, "leaf0").connects == 2)
                finally:
                    os.kill(process, signal.SIGCONT)

        run(tried())


GARBAGE: dict[str, Talk] = {
    "noise": noise,
    "silent": silent,
    "deep": said(b"[" * 100_000),
    "deeper": said(b'{"id": "monitor", "result": ' + b'{"a":' * 5000),
    "endless text": said(b'"' + b"x" * 100_000, for_ever=True),
    "no object": said(b"[1, 2, 3]"),
    "no table": said(b'{"id": "monitor", "result": 7, "error": null}'),
    "no rows": said(b'{"id": "monitor", "result": {"Interface": 7}, "error": null}'),
    "no columns": said(b'{"id": "monitor", "result": {"Interface": {"u": {"new": {}}}}, "error": null}'),
    "great number": said(
        b'{"id": "monitor", "result": {"Interface": {"u": {"new": {"name": "leaf0-spine0", "link_speed": 1e999,'
        b' "bfd_status": ["map", []], "external_ids": ["map", []]}}}}, "error": null}'
    ),
    "refused": said(b'{"id": "monitor", "result": null, "error": "no"}'),
    "updates": said(b'{"method": "update", "params": [null, {"Interface": {}}], "id": null}' * 1000, for_ever=True),
    "not UTF-8": said(b'{"id": "\xff\xfe"}'),
}


def test_databases_of_garbage_hold_nobody_up(tmp_path: Path) -> None:
    with fabric_of(tmp_path, spines=len(GARBAGE)) as fabric:
        places = {f"spine{number}": tmp_path / f"garbage{number}" for number in range(len(GARBAGE))}

        async def tried() -> None:
            async with AsyncExitStack() as stack:
                for path, talk in zip(places.values(), GARBAGE.values(), strict=True):
                    await serve_at(stack, str(path), talk)
                databases = {name: f"unix:{path}" for name, path in places.items()}
                async with running(fabric.fabric_toml(databases=databases, more=UNDAMPED)) as controller:
                    await until(lambda: controller.snapshot().plans > 0 and controller.snapshot().converged)
                    assert await loop_held(flap(controller, fabric, 6)) < HELD_S
                    assert controller.events.counts["database-lost"] >= len(GARBAGE) - 3
                    assert all(state.connected for state in controller.snapshot().switches)

        run(tried())


async def serve_at(stack: AsyncExitStack, path: str, talk: Talk) -> None:
    server = await asyncio.start_unix_server(served(talk), path)
    stack.callback(server.close)


def come(stack: AsyncExitStack, port: int, talk: Talk) -> None:
    """One that connects to us, again whenever it is cut off."""

    async def coming() -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    await talk(reader, writer)
                finally:
                    writer.close()
            await asyncio.sleep(0.05)

    stack.callback(asyncio.ensure_future(coming()).cancel)
