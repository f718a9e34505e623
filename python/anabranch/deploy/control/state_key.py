"""The key `state` of `[switch.NAME]`: the file that keeps a switch's tables."""

from __future__ import annotations

from pathlib import Path

from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.service.needs import Needs
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings


def take(settings: Settings) -> str:
    """Takes the key; empty for no file."""
    meaning = (
        "File that keeps its tables after each change, for tables that are made anew, as after a reboot. A relative "
        "path is of the directory that the controller is started in."
    )
    state: str = settings.text("state", "", meaning, otherwise="none")
    return state


def check(fabric: FabricFile) -> None:
    """Checks that each switch that has a file has one of its own.

    Raises:
        AnabranchError: another switch of the fabric has it.

    """
    owners: dict[str, str] = {}
    for name, switch in fabric.switches.items():
        # Some kinds of switches do not have the key.
        state = getattr(switch.keys, "state", "")
        other = owners.setdefault(state, name) if state else name
        if other != name:
            raise AnabranchError(f"{fabric.file}: switch.{name}.state: {state}: {other} has it; each has its own")


def needs(fabric: FabricFile, target: str) -> Needs:
    """The folders that the files of a target's switches are written in."""
    files = [switch.keys.state for switch in fabric.switches_of(target) if switch.keys.state]
    return Needs(writes=frozenset(str(Path(file).parent) for file in files))
