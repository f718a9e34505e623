"""The one list of targets."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import choose

if TYPE_CHECKING:
    from anabranch.deploy.targets.plan.form import PlanForm
    from anabranch.deploy.targets.protocol import Target

TARGETS = ("ovs", "linux", "ebpf", "table")
"""Folders of this package, in the order in which people are shown them."""
DEFAULT = TARGETS[0]
"""Taken where the command line names none."""
WRITTEN = ("p4", "srv6", "frr")
"""Folders of targets that files are written for, by their part `files`, and that nothing here changes."""
COMPARED = ("frr",)
"""Those of them that `diff` and `verify` compare with a plan, by their part `check`."""

AGENTS = ("linux",)
"""Targets whose switches a controller reaches by an agent on their machine, their part `agent/daemon.py`."""


def target(name: str) -> Target[Any, Any, Any]:
    """The target of a name.

    Raises:
        AnabranchError: the name is unknown.

    """
    if name in COMPARED:
        problem = "only compared with a plan, by diff and verify; change it by its own tools"
        raise AnabranchError(f"target: {name}: {problem}, or give {listed()}")
    chosen = choose(name, list(TARGETS), "target")
    return cast("Target[Any, Any, Any]", importlib.import_module(f"anabranch.deploy.targets.{chosen}.target").TARGET)


def compared(name: str) -> Target[Any, Any, Any]:
    """The target of a name, for verbs that change nothing.

    Raises:
        AnabranchError: the name is unknown.

    """
    if name not in COMPARED:
        choose(name, [*TARGETS, *COMPARED], "target")
        return target(name)
    return cast("Target[Any, Any, Any]", importlib.import_module(f"anabranch.deploy.targets.{name}.check").TARGET)


def sessions() -> list[ModuleType]:
    """The module `session/switch_kind.py` of each target that a controller follows; its `KIND` is a `SwitchKind`."""
    packages = (f"anabranch.deploy.targets.{name}.session" for name in TARGETS)
    return [importlib.import_module(f"{name}.switch_kind") for name in packages if _has(name)]


def agent(name: str) -> ModuleType:
    """The agent of a target; its function `run` serves controllers at an address.

    Raises:
        AnabranchError: the name is none of `AGENTS`.

    """
    return importlib.import_module(f"anabranch.deploy.targets.{choose(name, list(AGENTS), 'target')}.agent.daemon")


def plan_forms() -> dict[str, PlanForm[Any]]:
    """`FORM` of the module `plan_file` of each target that has plans, by the target's name."""
    modules = {name: f"anabranch.deploy.targets.{name}.plan_file" for name in (*TARGETS, *COMPARED)}
    return {name: importlib.import_module(one).FORM for name, one in modules.items() if _has(one)}


def files(name: str) -> ModuleType:
    """The part that writes files for the switches of a fabric; its function `write` returns `written.Written`.

    Raises:
        AnabranchError: the name is none of `WRITTEN`.

    """
    return importlib.import_module(f"anabranch.deploy.targets.{choose(name, list(WRITTEN), 'target')}.files")


def importer(file: Path) -> ModuleType | None:
    """The part `imported` of the target whose tables a file has: it reads them as a plan for another target."""
    modules = (f"anabranch.deploy.targets.{name}.imported" for name in (*TARGETS, *COMPARED))
    readers = (importlib.import_module(one) for one in modules if _has(one))
    return next((one for one in readers if one.reads(file)), None)


def option_class(name: str, use: str) -> type | None:
    """The options that a target adds to a use of the command line (`plan.options`), or `None`."""
    module = f"anabranch.deploy.targets.{name}.options"
    options = importlib.import_module(module).OPTIONS if _has(module) else {}
    return cast("type | None", options.get(use))


def listed(names: Sequence[str] = TARGETS) -> str:
    """Names as help writes them: `a`, `b` or `c`."""
    *others, last = (f"`{name}`" for name in names)
    return f"{', '.join(others)} or {last}" if others else last


def _has(module: str) -> bool:
    """Whether there is a module; a target need not have every part."""
    return importlib.util.find_spec(module) is not None
