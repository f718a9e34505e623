"""The controller: sessions with all switches, the state of the network between them, and plans whenever it changes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Mapping
from typing import Any

from anabranch.deploy.control import policy
from anabranch.deploy.control.as_wired import placement
from anabranch.deploy.control.ending import end
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.exposure import exposures
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.network import Network
from anabranch.deploy.control.policy import SwitchPlan
from anabranch.deploy.control.progress import Progress
from anabranch.deploy.control.recording import RecordedNetwork, Recorder
from anabranch.deploy.control.session import Session, Surroundings
from anabranch.deploy.control.snapshot import snapshot
from anabranch.deploy.control.state import Snapshot
from anabranch.deploy.control.switch_kind import kinds
from anabranch.deploy.control.topology import End
from anabranch.deploy.control.wiring import Wiring
from anabranch.files.errors import AnabranchError

SETTLE_S = 2.0
"""The first plan waits so long for switches that are not reached; half a network would be planned around."""
REST_S = 0.002
"""Between two plans at least, and as long as the last plan took: changes that come meanwhile share the next."""


class Controller:
    """Follows one fabric while `run` runs. Nothing but `snapshot` may be called from other threads."""

    def __init__(
        self,
        file: FabricFile,
        events: Events | None = None,
        *,
        commits: bool = True,
        as_wired: bool = False,
        recorder: Recorder | None = None,
    ) -> None:
        self.file = file
        self.events = events or Events()
        self.progress = Progress()
        self.plans: Mapping[str, SwitchPlan] = {}
        self._commits, self._as_wired, self._recorder = commits, as_wired, recorder
        self._pending = file
        self._stop = asyncio.Event()
        self._anew = asyncio.Event()
        self._build(file)

    def _build(self, file: FabricFile) -> None:
        """All that depends on the file."""
        self.file = file
        if self._recorder is not None:
            self._recorder.begin(file, self.events)
            self.network: Network = RecordedNetwork(file, self.events, self._recorder)
        else:
            self.network = Network(file, self.events)
        self.wiring = Wiring(file, self.network, self.events, commits=self._commits)
        if self._as_wired:
            self.wiring.on_change = self._plan_soon
        self._policy = policy.build(file.weights, file)
        surroundings = Surroundings(
            file,
            self.network,
            self.events,
            self.progress,
            self.wiring,
            self._changed,
            commits=self._commits,
            counts_rules=self._policy.counts_rules,
        )
        self._attended = [kind.attend(surroundings) for kind in kinds()]
        self.sessions: dict[str, Session[Any]] = {
            name: session for attended in self._attended for name, session in attended.sessions.items()
        }
        self._plan_error = ""
        self.progress.changed_s = None
        self._settled = False
        self._next: asyncio.TimerHandle | None = None
        self._damped: asyncio.TimerHandle | None = None
        self._planned_until_s = 0.0

    def snapshot(self) -> Snapshot:
        """Snapshot of what is known now; may be called from any thread."""
        return snapshot(self.file, self.network, self.sessions, self.plans, self.progress, self.events, self.wiring)

    def labels(self) -> Mapping[str, object] | None:
        """Labels that hosts are to mark packets with, or None; may be called from any one thread."""
        return self._policy.labels(self._observed())

    def _observed(self) -> dict[str, Any]:
        known = ((name, session.observed) for name, session in list(self.sessions.items()))
        return {name: observed for name, observed in known if observed is not None}

    def _history(self) -> dict[str, Any]:
        known = ((name, session.history) for name, session in self.sessions.items())
        return {name: history for name, history in known if history is not None}

    def differences(self) -> list[str]:
        """Differences between the switches and their plans, for people."""
        lines = []
        for name, session in self.sessions.items():
            change = session.change()
            if change:
                ends = {number: session.switch.interfaces[end] for end, number in self._numbers(name)}
                lines += [f"{name}:", *(f"  {line}" for line in change.lines(ends))]
        return lines

    def _numbers(self, switch: str) -> list[tuple[End, int]]:
        ends = self.network.topology.ends
        known = ((port, self.network.number(port)) for port in self.network.topology.ports_of[switch])
        return [(ends[port], number) for port, number in known if number is not None]

    def stop(self) -> None:
        """Ends `run`; the switches keep their rules."""
        self._stop.set()

    def reload(self, file: FabricFile) -> None:
        """Goes on with another file: the switches are reached and read anew, and keep what the new plan keeps."""
        self.progress.file_error = ""
        self._pending = file
        self._anew.set()

    def keep(self, error: AnabranchError) -> None:
        """Goes on with the file in force, since there is something wrong with the one that was to replace it."""
        self.progress.file_error = str(error)
        self.events.report("reload-failed", error=str(error))

    async def run(self) -> None:
        """Follows the fabric until `stop`.

        Raises:
            AnabranchError: `listen.openflow` cannot be listened at.

        """
        self.events.report("started", file=self.file.file, policy=self.file.weights)
        while not self._stop.is_set():
            await self._run_file()
            if self._anew.is_set():
                self._anew.clear()
                self._build(self._pending)
                self.events.report("reloaded", file=self.file.file, policy=self.file.weights)
        self.events.report("stopped")

    async def _run_file(self) -> None:
        """Runs until it is stopped or the file is another."""
        for exposure in exposures(self.file):
            self.events.report("exposed", error=exposure)
        tasks: list[asyncio.Task[object]] = []
        try:
            for attended in self._attended:
                await attended.open()
            work: list[Coroutine[Any, Any, object]] = [part for one in self._attended for part in one.work()]
            work += [self._settle(), self._tick(), self.wiring.run(), self._stop.wait(), self._anew.wait()]
            tasks += [asyncio.create_task(part) for part in work]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for timer in (self._next, self._damped):
                if timer is not None:
                    timer.cancel()
            for attended in self._attended:
                attended.close()
            await end(tasks)
            for attended in self._attended:
                await attended.closed()

    async def _settle(self) -> None:
        """Has the first plan made when all switches are read, or when enough time has passed."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._all_heard(), SETTLE_S)
        self._settled = True
        self._changed()
        await asyncio.Event().wait()

    async def _all_heard(self) -> None:
        while not all(attended.heard for attended in self._attended):
            await asyncio.sleep(0.01)

    async def _tick(self) -> None:
        """Plans by loads, as often as they are measured."""
        while True:
            await asyncio.sleep(self.file.interval_s)
            # The first reading gives no load yet; a plan without loads would undo the one before.
            if self.network.measure():
                self.progress.measured_s = time.time()
                self._changed(port=False)

    def _changed(self, port: bool = True) -> None:
        """Has a plan made soon: at once if the last is long ago. `port`: a port's state is the reason."""
        if port:
            self.wiring.look()
        self._plan_soon(port)

    def _plan_soon(self, port: bool = True) -> None:
        now_s = time.monotonic()
        if port and self.progress.changed_s is None:
            self.progress.changed_s = now_s
        if self._settled and self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.call_later(max(0.0, self._planned_until_s - now_s), self._plan)

    def _plan(self) -> None:
        self._next = None
        begun_s, since_s = time.monotonic(), self.progress.changed_s
        if self._as_wired:
            self.network.rewire(placement(self.network.topology, self.wiring.verdicts(), self.wiring.neighbours()))
        self.network.refresh()
        view = self.network.view(self._history())
        if self._recorder is not None:
            self._recorder.plan(self._policy.installed(view))
        try:
            plans = self._policy.plan(view)
        except AnabranchError as error:
            if str(error) != self._plan_error:
                self._plan_error = str(error)
                self.events.report("plan-failed", error=str(error))
            plans = self.plans
        else:
            self._plan_error = ""
        changed = sum(1 for name, plan in plans.items() if plan is not self.plans.get(name))
        self.plans = dict(plans)
        if self._recorder is not None:
            self._recorder.decided(self.network.topology, self.plans, view.openflow_port)
        for name, plan in plans.items():
            self.sessions[name].want(plan, since_s)
        self.progress.changed_s = None
        ended_s = time.monotonic()
        self._planned_until_s = ended_s + max(REST_S, ended_s - begun_s)
        if changed:
            self.progress.plans += 1
            self.progress.planned_s, self.progress.plan_duration_s = time.time(), ended_s - begun_s
            self.events.report("planned", switches=changed, duration_s=ended_s - begun_s)
        self._watch_damped()

    def _watch_damped(self) -> None:
        """Has damped links looked at again when the first one's time is over."""
        wakes_s = self.network.wakes_s()
        if self._damped is not None:
            self._damped.cancel()
            self._damped = None
        if wakes_s is not None:
            loop = asyncio.get_running_loop()
            self._damped = loop.call_later(max(0.0, wakes_s - time.monotonic()), self._changed, False)
