"""Kinds of switches, one per target that the controller can follow.

A kind reads the target's own keys of `[switch.NAME]`, says what its switches hold for weights towards leaves, and
follows them. The module `session` of a target's folder has one, called `KIND`; nothing else here knows a target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar, cast

from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.forwarding import Forwarding
from anabranch.deploy.control.session import Session, Surroundings
from anabranch.deploy.control.slicing import Slicing
from anabranch.deploy.service.needs import Needs
from anabranch.deploy.targets import registry
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings

State = TypeVar("State")


class Attended(ABC):
    """The switches of one kind in a fabric, while the controller runs."""

    sessions: Mapping[str, Session[Any]]
    """Session of each switch, by its name."""

    @property
    def heard(self) -> bool:
        """Whether all that can be known before the first plan is known."""
        return all(session.heard for session in self.sessions.values())

    async def open(self) -> None:  # noqa: B027 (most kinds reach their switches themselves)
        """Begins to listen for switches that come by themselves.

        Raises:
            AnabranchError: an address cannot be listened at.

        """

    @abstractmethod
    def work(self) -> list[Coroutine[Any, Any, object]]:
        """Coroutines that follow the switches until they are cancelled."""

    def close(self) -> None:
        """Leaves all switches forwarding as they do."""
        for session in self.sessions.values():
            session.close()

    async def closed(self) -> None:  # noqa: B027 (see `open`)
        """Waits, after the work has ended, until nobody is listened to any more."""


class SwitchKind(ABC, Generic[State]):
    """Switches of one target. `State` is what such a switch holds of ours."""

    target: ClassVar[str]
    """Name of the target."""
    datapath: ClassVar[str]
    """Value of `datapath` in `[switch.NAME]` that means such a switch."""
    noun: ClassVar[str]
    """Noun phrase for one such switch, as in `a bridge`."""
    page: ClassVar[str] = ""
    """Section of the documentation about such switches, as in `control.md#datapaths-in-the-kernel`."""
    example: ClassVar[str] = ""
    """The target's own keys of `[switch.NAME]` as in a file, with NAME for the switch's name; a line with NEIGHBOUR is
    one for each neighbour."""
    has_arbiter: ClassVar[bool] = False
    """Whether something outside of all controllers says which of several may change such a switch."""
    recipes: ClassVar[tuple[str, ...]] = ()
    """Values of `policy.recipe` that mean something to such switches."""

    @property
    def about(self) -> str:
        """The noun for reference pages."""
        return f"[{self.noun}]({self.page})" if self.page else self.noun

    def example_of(self, switch: str, neighbours: Iterable[str]) -> str:
        """The example for one switch with its neighbours."""
        lines = self.example.replace("NAME", switch).splitlines()
        return "\n".join(
            line.replace("NEIGHBOUR", each) for line in lines for each in (neighbours if "NEIGHBOUR" in line else [""])
        )

    @abstractmethod
    def keys(self, settings: Settings, switch: str) -> Any:
        """Takes the target's own keys of `[switch.NAME]`.

        Raises:
            AnabranchError: a key is not as it must be, or no such switch can have this name.

        """

    def check(self, fabric: FabricFile) -> None:
        """Checks what no key says by itself.

        Raises:
            AnabranchError: keys contradict each other, or one is missing.

        """

    @abstractmethod
    def forwarding(self, fabric: FabricFile) -> Forwarding[State]:
        """Content of such switches for weights towards leaves."""

    def slicing(self, fabric: FabricFile) -> Slicing[State] | None:
        """Content of such switches for microslices; None where they cannot have any.

        Raises:
            AnabranchError: they can, but not in this fabric.

        """
        del fabric
        return None

    @abstractmethod
    def needs(self, fabric: FabricFile) -> Needs:
        """What the controller takes of its machine for such switches of a fabric, which has some."""

    @abstractmethod
    def attend(self, surroundings: Surroundings) -> Attended:
        """Sessions with all such switches of a fabric; nobody is reached yet."""


@cache
def kinds() -> tuple[SwitchKind[Any], ...]:
    """All kinds, the default first."""
    return tuple(cast("SwitchKind[Any]", session.KIND) for session in registry.sessions())


def kind_of(target: str) -> SwitchKind[Any]:
    """The kind of a target's switches.

    Raises:
        AnabranchError: the controller cannot follow such switches.

    """
    for kind in kinds():
        if kind.target == target:
            return kind
    raise AnabranchError(f"target {target}: not for the controller; take one of {registry.listed(_names())}")


def _names() -> tuple[str, ...]:
    return tuple(kind.target for kind in kinds())
