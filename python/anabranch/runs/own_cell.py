"""Runs a cell of a study under a scheme of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from anabranch._core import Progress, Scenario
from anabranch.errors import AnabranchError
from anabranch.own.named import Own, own_identity
from anabranch.own.program import Program
from anabranch.own.scheme import about, hooks
from anabranch.runs.execute import Executed, execute
from anabranch.runs.own_program import execute_program


def execute_own(own: Own, scenario: Scenario, progress: Progress, copies: Mapping[str, str]) -> Executed:
    """Runs a scenario under a new object of the scheme, or in its program.

    Args:
        own: The scheme.
        scenario: The scenario, whose own balance gives way.
        progress: Progress of the run.
        copies: Files that the scenario names: paths by digest.

    Raises:
        AnabranchError: the scheme has failed; the message names its file, line and method.

    """
    if isinstance(own, Program):
        return execute_program(own, scenario, progress, copies)
    try:
        return execute(scenario, progress, hooks(own.scheme()))
    except AnabranchError as error:
        raise AnabranchError(f"{own.text}: {error}") from None
    except Exception as error:  # Whatever their author wrote.
        raise AnabranchError(f"{own.text}: {own.explained(error)}") from error


def check_own(own: Own, scenario: Scenario) -> None:
    """Refuses a scenario under which the scheme cannot begin.

    Raises:
        AnabranchError: it cannot.

    """
    if isinstance(own, Program):
        return
    stopped = Progress()
    stopped.cancel()
    with suppress(KeyboardInterrupt):
        execute_own(own, scenario, stopped, {})


def described(own: Own, scenario: Scenario) -> dict[str, Any]:
    """Entries of the manifest that say what was run."""
    common = {"source": own.text, "digest": own.digest}
    scheme = {"name": own.name} if isinstance(own, Program) else about(own.scheme())
    return {"identity": own_identity(own, scenario), "scheme": {**scheme, **common}}
