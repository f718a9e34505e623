"""Broken and malicious switches, databases and strangers beside good ones: the good ones are served on."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from anabranch.deploy.control.controller import Controller
from anabranch.deploy.control.file import parse
from anabranch.deploy.control.state import SwitchState
from anabranch.deploy.openflow import channel
from anabranch.deploy.openflow.listener import COMERS_MAX, serve
from anabranch.deploy.targets.ovs.daemons import SWITCH
from anabranch.deploy.targets.ovs.session import bridge as session_bridge
from anabranch.deploy.targets.ovs.session import switch_kind as session
from support.dummy_bridges import DummyBridges, dummy_bridges
from support.hostile_switch import HOSTILE, FairSwitch, Talk, noise, said, silent
from support.other_ends import OtherEnds, turns
from support.reserved_port import reserved_port

Result = TypeVar("Result")
DEADLINE_S = 120.0
"""Deadline of everything that is waited for: no measure of speed, only of never."""
TURN_S = 2.0
"""Processor time that a turn of the loop may take at worst; it takes a tenth at most."""
GOOD = ("leaf0", "leaf1", "spine0", "spine1")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("anabranch.deploy.control")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is found out sooner than a user would want. Good switches that are slow are reached again."""
    monkeypatch.setattr(session_bridge, "TIMEOUT_S", 2.0)
    monkeypatch.setattr(channel, "WHOLE_ANSWER_S", 2.0)


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Collects the garbage of other tests, which is no work of the loop's."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def fabric_of(folder: Path, spines: int = 2) -> AbstractContextManager[DummyBridges]:
    return dummy_bridges(folder, leaves=2, spines=spines)


@asynccontextmanager
async def running(text: str, others: OtherEnds) -> AsyncIterator[Controller]:
    controller = Controller(parse(text, "fabric.toml"))
    task = asyncio.create_task(controller.run())
    try:
        yield controller
    finally:
        assert not task.done(), task
        # Nobody is to come while the controller's server closes (`OtherEnds`).
        await asyncio.to_thread(others.leave)
        await turns()
        controller.stop()
        await asyncio.wait_for(task, DEADLINE_S)


def run(tried: Coroutine[Any, Any, Result]) -> Result:
    """Runs one, and waits until all that it began has ended."""

    async def ran() -> Result:
        result = await tried
        await asyncio.wait_for(all_ends(), DEADLINE_S)
        return result

    async def all_ends() -> None:
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
    """Processor time that the loop took at worst between two turns of ours while something ran, in seconds.

    How long it was between them is a matter of all else that the machine does.
    """
    worst, before = 0.0, time.thread_time()
    task = asyncio.ensure_future(watched)
    while not task.done():
        await asyncio.sleep(0.005)
        now = time.thread_time()
        worst, before = max(worst, now - before), now
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

        async def tried(others: OtherEnds) -> None:
            for name, talk in spines.items():
                if isinstance(talk, FairSwitch):
                    talk.datapath_id, talk.ports = fabric.datapath_id(name), tuple(fabric.ports()[name].values())
                others.serve(addresses[name].removeprefix("unix:"), talk)
            async with running(fabric.fabric_toml(openflow=addresses, more=UNDAMPED), others) as controller:

                def found() -> dict[str, SwitchState]:
                    return {sort: switch(controller, name) for sort, name in zip(HOSTILE, spines, strict=True)}

                def all_found_out() -> bool:
                    # What comes again is well for as long as it says nothing wrong.
                    known.update(sort for sort, state in found().items() if found_out(sort, state))
                    return known == set(HOSTILE)

                known: set[str] = set()
                await until(lambda: all(as_planned(controller, name) for name in GOOD))
                assert await loop_held(flap(controller, fabric, 10)) < TURN_S
                # Within some audits it has been seen what they do not keep.
                await until(all_found_out)
                await until(lambda: all(found()[sort].refused for sort in KEEP_NOTHING))
                before = found()
                await audits(controller, 4)
                after = found()
                assert await loop_held(flap(controller, fabric, 4)) < TURN_S
                # What was answered wrongly is not tried again and again: twice by every connection.
                for sort in KEEP_NOTHING:
                    commits = after[sort].commits - before[sort].commits
                    assert commits <= 2 * (after[sort].connects - before[sort].connects)
                assert after["refusing"].commits == 0

        with OtherEnds() as others:
            run(tried(others))


KEEP_NOTHING = ("refusing", "forgetful")


def found_out(sort: str, state: SwitchState) -> bool:
    """Whether the controller knows what is wrong with a hostile switch."""
    if sort in KEEP_NOTHING:
        return state.refused
    return sort in ("echoes", "port changes") or bool(state.last_error)


async def audits(controller: Controller, count: int) -> None:
    """Waits for as many measurements as are made in the time of so many audits."""
    answered = controller.network.measurements
    await until(lambda: controller.network.measurements >= answered + 3 * count)


def test_strangers_that_come_hold_nobody_up(tmp_path: Path) -> None:
    with fabric_of(tmp_path) as fabric, reserved_port() as port, OtherEnds() as others:

        async def tried() -> None:
            text = fabric.fabric_toml(openflow={"leaf0": ""}, listen=f"tcp:127.0.0.1:{port}", more=UNDAMPED)
            async with running(text, others) as controller:
                for talk in HOSTILE.values():
                    others.come(port, talk)
                # More than may wait, so that they drive each other out.
                for _ in range(COMERS_MAX + 72):
                    others.come(port, silent)
                await until(lambda: controller.events.counts["stranger"] > 0)
                fabric.open_vswitch.vsctl("set-controller", "leaf0", f"tcp:127.0.0.1:{port}")
                await until(lambda: all(as_planned(controller, name) for name in GOOD))
                assert await loop_held(flap(controller, fabric, 6)) < TURN_S

        run(tried())


def test_whoever_says_it_is_another_does_not_take_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fabric_of(tmp_path) as fabric, reserved_port() as port, OtherEnds() as others:

        async def tried() -> None:
            text = fabric.fabric_toml(openflow={"leaf0": ""}, listen=f"tcp:127.0.0.1:{port}", more=UNDAMPED)
            # The good one may be slow to answer, and keeps its place.
            monkeypatch.setattr(session_bridge, "PROBE_S", DEADLINE_S)
            monkeypatch.setattr(session, "serve", partial(serve, timeout_s=DEADLINE_S))
            async with running(text, others) as controller:
                fabric.open_vswitch.vsctl("set-controller", "leaf0", f"tcp:127.0.0.1:{port}")
                await until(lambda: all(as_planned(controller, name) for name in GOOD))
                liar = FairSwitch()
                liar.datapath_id = fabric.datapath_id("leaf0")
                for _ in range(10):
                    others.come(port, liar)
                await until(lambda: controller.events.counts["stranger"] >= 10)
                await flap(controller, fabric, 4)
                assert switch(controller, "leaf0").connects == 1
                # A process that no longer answers gives its place to the one that comes back.
                process = fabric.open_vswitch.pid(SWITCH)
                assert process is not None
                monkeypatch.setattr(session_bridge, "PROBE_S", 0.5)
                os.kill(process, signal.SIGSTOP)
                try:
                    others.come(port, liar)
                    await until(lambda: switch(controller, "leaf0").connects >= 2)
                finally:
                    os.kill(process, signal.SIGCONT)
                # Nor is it to come while the server closes.
                await asyncio.to_thread(fabric.open_vswitch.vsctl, "del-controller", "leaf0")

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

        async def tried(others: OtherEnds) -> None:
            databases = {name: f"unix:{path}" for name, path in places.items()}
            async with running(fabric.fabric_toml(databases=databases, more=UNDAMPED), others) as controller:
                await until(lambda: controller.snapshot().plans > 0 and controller.snapshot().converged)
                assert await loop_held(flap(controller, fabric, 6)) < TURN_S
                await until(lambda: controller.events.counts["database-lost"] >= len(GARBAGE) - 3)
                await until(lambda: all(state.connected for state in controller.snapshot().switches))

        with OtherEnds() as others:
            for path, talk in zip(places.values(), GARBAGE.values(), strict=True):
                others.serve(str(path), talk)
            run(tried(others))
