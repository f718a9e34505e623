"""One switch as the controller follows it, whatever target it is: desired plan, record, events, what was refused."""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from anabranch.deploy.control.backoff import Backoff
from anabranch.deploy.control.event import Events
from anabranch.deploy.control.fabric import FabricFile, SwitchFile
from anabranch.deploy.control.log import LOGGER, Field
from anabranch.deploy.control.network import Network
from anabranch.deploy.control.policy import PlannedGroup, SwitchPlan
from anabranch.deploy.control.progress import Progress
from anabranch.deploy.control.state import SECONDARY, SwitchState
from anabranch.deploy.control.wiring import Wiring
from anabranch.files.errors import AnabranchError


@dataclass(frozen=True)
class Surroundings:
    """The parts of a controller that all sessions share."""

    fabric: FabricFile
    network: Network
    events: Events
    progress: Progress
    wiring: Wiring
    changed: Callable[[], None]
    """Called when the network or what is known of a switch is not as it was."""
    commits: bool = True
    """Whether switches are changed; else they are only read."""
    counts_rules: bool = False
    """Whether the policy wants to know what slices carry."""


@dataclass
class Record:
    """The part of `SwitchState` that a session remembers."""

    connected: bool = False
    datapath_id: int | None = None
    changed_s: float = 0.0
    last_error: str = ""
    connects: int = 0
    commits: int = 0
    changes: int = 0
    committed_s: float = 0.0
    commit_duration_s: float = 0.0
    lost_s: float = 0.0
    unkept: str = ""
    """Why the file of the tables does not have them; empty if it has, or there is none."""


class SwitchChange(Protocol):
    """The change from a switch to its plan; false if there is nothing to change."""

    def __len__(self) -> int:
        """Number of changes."""
        ...

    def lines(self, port_names: Mapping[int, str] | None = None) -> list[str]:
        """A line per change, `+` new, `-` gone, `~-` was and `~+` is now; of many a few."""
        ...


State = TypeVar("State")


class Session(ABC, Generic[State]):
    """The controller's side of one switch. `State` is what such a switch holds of ours."""

    unit = "bytes"
    """Unit of what its groups count."""

    def __init__(self, switch: SwitchFile, surroundings: Surroundings) -> None:
        """Knows nothing of the switch yet."""
        self.switch, self.surroundings = switch, surroundings
        self.network, self.events, self.wiring = surroundings.network, surroundings.events, surroundings.wiring
        self.changed, self.commits = surroundings.changed, surroundings.commits
        self.interval_s = surroundings.fabric.interval_s
        self.audit_s = surroundings.fabric.audit_s
        self.record = Record()
        self.plan: SwitchPlan | None = None
        """What the controller wants of the switch; `None` while the plan is another network's."""
        self.hint = ""
        """Why the switch cannot be reached, as others say."""
        self._observed: State | None = None
        self._since_s: float | None = None
        self._wake = asyncio.Event()
        self._refused: State | None = None
        """What it was last asked for in vain."""
        self._backoff = Backoff(switch.name)
        self._random = random.Random(switch.name)

    @property
    def name(self) -> str:
        """The switch's."""
        return self.switch.name

    @property
    def role(self) -> str:
        """Role of this controller at the switch, `PRIMARY` or `SECONDARY` of `state`; empty without others."""
        return ""

    @property
    def may_change(self) -> bool:
        """Whether the switch takes changes of this controller."""
        return self.role != SECONDARY

    @property
    def observed(self) -> State | None:
        """Observed state of ours in the switch; `None` while that is not known."""
        return self._observed

    @property
    def history(self) -> State | None:
        """State that the next plan goes on from: the observed one, and what is kept of it elsewhere."""
        return self._observed

    @abstractmethod
    def desired(self) -> State | None:
        """Desired state of ours in the switch; `None` while there is no plan."""

    @abstractmethod
    def change(self) -> SwitchChange | None:
        """The change from switch to plan; `None` while either is not known."""

    @abstractmethod
    def sizes(self, planned: PlannedGroup) -> Counter[int]:
        """Bytes, or what `unit` says, by port of a planned group over the last measured interval."""

    @abstractmethod
    def _address(self) -> str:
        """Address at which the switch is reached, for people."""

    @abstractmethod
    def _counts(self) -> tuple[int, int, int]:
        """Rules, groups and meters that the switch holds of ours."""

    def want(self, plan: SwitchPlan, since_s: float | None = None) -> None:
        """Has the switch brought to this plan; one that comes while another is on its way replaces it.

        `since_s` is when, on the monotonic clock, the port changed its state that this is the answer to.
        """
        if plan is not self.plan:
            self.plan = plan
            self._since_s = self._since_s or since_s
            self._wake.set()

    @property
    def heard(self) -> bool:
        """Whether it is known what the switch holds."""
        return self._observed is not None

    @property
    def refused(self) -> bool:
        """Whether the switch has refused what is planned now."""
        return self._refused is not None and self._refused == self.desired()

    def failed(self, error: AnabranchError) -> bool:
        """Reports an error once, however often it comes; whether it was new."""
        text = f"{error} ({self.hint})" if self.hint else str(error)
        if self.record.last_error == text:
            return False
        self.record.last_error, self.record.changed_s = text, time.time()
        self.events.report("unreachable", self.name, error=text)
        return True

    def mistaken(self, error: Exception) -> None:
        """Reports a mistake of ours: an error in one session must not stop the others."""
        self.failed(AnabranchError(f"{self.name}: {error!r}: a mistake of anabranch's; please report it"))
        LOGGER.exception("mistake", extra={"switch": self.name})

    def state(self) -> SwitchState:
        """The switch, for the snapshot."""
        change, record = self.change(), self.record
        flows, groups, meters = self._counts()
        return SwitchState(
            name=self.name,
            address=self._address(),
            connected=record.connected,
            datapath_id=record.datapath_id,
            changed_s=record.changed_s,
            last_error=record.last_error or record.unkept,
            differences=len(change) if change else 0,
            refused=self.refused,
            role=self.role,
            flows=flows,
            groups=groups,
            meters=meters,
            connects=record.connects,
            commits=record.commits,
            changes=record.changes,
            committed_s=record.committed_s,
            commit_duration_s=record.commit_duration_s,
            lost_s=record.lost_s,
        )

    def close(self) -> None:
        """Leaves the switch forwarding as it does."""
        self.record.connected = False

    async def _rest(self) -> bool:
        """Waits for another plan, or until it is time to audit; whether it is."""
        # Switches are audited at different times: news of ports would wait behind the tables of all of them.
        try:
            await asyncio.wait_for(self._wake.wait(), self.audit_s * self._random.uniform(0.75, 1.25))
        except asyncio.TimeoutError:
            return True
        return False

    def _connected(self, observed: State, **fields: Field) -> None:
        """Notes that the switch was reached and read."""
        self._observed, self._refused = observed, None
        self._backoff.succeeded()
        self.record.connected, self.record.changed_s, self.record.last_error = True, time.time(), ""
        self.record.connects += 1
        self.events.report("connected", self.name, **fields)

    def _lost(self, reason: str | None = None) -> None:
        """Forgets what only a connected switch can say; a reason is empty where the other end did not cause the end."""
        self._observed = None
        if self.record.connected:
            self.record.connected = False
            self.record.changed_s = self.record.lost_s = time.time()
            if reason is not None:
                self.record.last_error = reason
            self.events.report("lost", self.name, error=reason or None)

    def _committed(self, changes: int, begun_s: float, since_s: float | None) -> None:
        """Notes changes that the switch has taken; times are of the monotonic clock."""
        ended_s = time.monotonic()
        duration_s, lag_s = ended_s - begun_s, ended_s - since_s if since_s is not None else None
        self.record.commits += 1
        self.record.changes += changes
        self.record.committed_s, self.record.commit_duration_s = time.time(), duration_s
        self.record.last_error = ""
        self.events.report("committed", self.name, changes=changes, duration_s=duration_s, lag_s=lag_s)

    async def _keeping(self, kept: Awaitable[None]) -> None:
        """Waits until the file of the tables has them; where it cannot be written, says so once."""
        error = ""
        try:
            await kept
        except AnabranchError as problem:
            error = str(problem)
        if error != self.record.unkept:
            self.record.unkept = error
            if error:
                self.events.report("not-kept", self.name, error=error)

    def _drifted(self, changes: int) -> None:
        """Reports that the switch does not hold what it did."""
        self.events.report("drifted", self.name, changes=changes)

    def _refuse(self, desired: State, error: str) -> None:
        """Notes that the switch does not take what is desired; it is not asked again until plan or switch change."""
        self._refused, self.record.last_error = desired, error
        self.events.report("refused", self.name, error=error)
